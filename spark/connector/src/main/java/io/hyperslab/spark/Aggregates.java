package io.hyperslab.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Aggregates that the reader computes per split; Spark combines the partial results. */
final class Aggregates {
  private static final List<DataType> INTEGERS = Arrays.asList(
      DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType);

  private static final List<DataType> FLOATS =
      Arrays.asList(DataTypes.FloatType, DataTypes.DoubleType);

  private final ArrayNode request = ReadOptions.JSON.createArrayNode();
  private StructType resultSchema = new StructType();
  private StructType columns = new StructType();

  /** No aggregates: the reader returns rows. */
  static Aggregates none() {
    return new Aggregates();
  }

  /** The aggregates, or null if the reader cannot compute one of them exactly as Spark would. */
  static Aggregates of(Aggregation aggregation, Map<String, DataType> types, boolean sumFloats) {
    Aggregates aggregates = new Aggregates();
    // Spark may fold every aggregate to a constant, such as the minimum of no column.
    if (aggregation.groupByExpressions().length > 0
        || aggregation.aggregateExpressions().length == 0) {
      return null;
    }
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      if (!aggregates.add(function, types, sumFloats)) {
        return null;
      }
    }
    return aggregates;
  }

  private boolean add(AggregateFunc function, Map<String, DataType> types, boolean sumFloats) {
    if (function instanceof CountStar) {
      return add("count", null, null, DataTypes.LongType);
    }
    if (function.children().length != 1) {
      return false;
    }
    String name = name(function.children()[0]);
    DataType type = types.get(name);
    if (type == null) {
      return false;
    }
    boolean integer = INTEGERS.contains(type);
    boolean number = integer || FLOATS.contains(type);
    if (function instanceof Count && !((Count) function).isDistinct()) {
      return add("count", name, type, DataTypes.LongType);
    } else if (function instanceof Min && (number || type.equals(DataTypes.TimestampNTZType))) {
      return add("min", name, type, type);
    } else if (function instanceof Max && (number || type.equals(DataTypes.TimestampNTZType))) {
      return add("max", name, type, type);
    } else if (function instanceof Sum
        && !((Sum) function).isDistinct()
        && (integer || (number && sumFloats))) {
      return add("sum", name, type, integer ? DataTypes.LongType : DataTypes.DoubleType);
    }
    return false;
  }

  private boolean add(String function, String column, DataType type, DataType result) {
    ObjectNode entry = request.addObject().put("function", function);
    if (column != null) {
      entry.put("column", column);
      if (!Arrays.asList(columns.fieldNames()).contains(column)) {
        columns = columns.add(column, type, true);
      }
    }
    if (function.equals("sum")) {
      entry.put("wraps", !SQLConf.get().ansiEnabled());
    }
    resultSchema = resultSchema.add("a" + resultSchema.length(), result, !function.equals("count"));
    return true;
  }

  private static String name(Expression expression) {
    if (!(expression instanceof NamedReference)) {
      return null;
    }
    String[] names = ((NamedReference) expression).fieldNames();
    return names.length == 1 ? names[0] : null;
  }

  boolean isEmpty() {
    return request.isEmpty();
  }

  /** JSON for the native library. */
  String request() {
    return request.toString();
  }

  /** The columns of the single row that each split returns. */
  StructType resultSchema() {
    return resultSchema;
  }

  /** The values over no rows: each count is 0, everything else is null. */
  static Object[] ofNoRows(StructType resultSchema) {
    return Arrays.stream(resultSchema.fields())
        .map(field -> field.nullable() ? null : 0L)
        .toArray();
  }

  /** The columns that the aggregates read. */
  StructType columns() {
    return columns;
  }
}
