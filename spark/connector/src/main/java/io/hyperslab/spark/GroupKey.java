package io.hyperslab.spark;

import io.hyperslab.spark.vectors.TimePart;
import org.apache.spark.sql.connector.expressions.Cast;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Extract;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/** A column by which rows are grouped, or a part of its times: splits group by the times, and Spark combines equal parts. */
final class GroupKey {
  /** The column of the table. */
  final StructField column;
  /** The column of keys. */
  final StructField result;

  private GroupKey(StructField column, StructField result) {
    this.column = column;
    this.result = result;
  }

  /** The key that Spark pushes; null if it is another expression. */
  static GroupKey of(Expression key, AggregateColumns table) {
    StructField column = table.column(Aggregates.name(key));
    if (column != null) {
      return new GroupKey(column, column);
    }
    StructField times = timesOfDates(key, table);
    if (times != null) {
      return new GroupKey(times, TimePart.dateOf(times.name()));
    }
    return key instanceof Extract ? part((Extract) key, table) : null;
  }

  private static GroupKey part(Extract extract, AggregateColumns table) {
    for (TimePart part : TimePart.values()) {
      if (part.name().equals(extract.field())) {
        StructField times = part.isOfDates()
            ? timesOfDates(extract.source(), table)
            : times(extract.source(), table);
        return times == null ? null : new GroupKey(times, part.of(times.name()));
      }
    }
    return null;
  }

  /** The column of times whose dates an expression has; null for other expressions. */
  private static StructField timesOfDates(Expression expression, AggregateColumns table) {
    if (!(expression instanceof Cast)
        || !((Cast) expression).dataType().equals(DataTypes.DateType)) {
      return null;
    }
    return times(((Cast) expression).expression(), table);
  }

  private static StructField times(Expression expression, AggregateColumns table) {
    StructField column = table.column(Aggregates.name(expression));
    boolean hasTimes = column != null
        && column.dataType().equals(DataTypes.TimestampNTZType)
        && !table.isOfFolders(column);
    return hasTimes ? column : null;
  }
}
