package io.hyperslab.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Aggregates that the reader computes per split, for all rows or by groups; Spark combines the partial results. */
final class Aggregates {
  private static final List<DataType> INTEGERS = Arrays.asList(
      DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType);

  private static final List<DataType> FLOATS =
      Arrays.asList(DataTypes.FloatType, DataTypes.DoubleType);

  private final ArrayNode request = ReadOptions.JSON.createArrayNode();
  /** The names of the keys by which rows are grouped; null if they are not. */
  private List<String> keys;
  /** The names of the keys that are in the files. */
  private final ArrayNode keysOfFiles = ReadOptions.JSON.createArrayNode();

  private StructType resultSchema = new StructType();
  private StructType columns = new StructType();

  /** No aggregates: the reader returns rows. */
  static Aggregates none() {
    return new Aggregates();
  }

  /** The aggregates, or null if the reader cannot compute one of them exactly as Spark would. */
  static Aggregates of(Aggregation aggregation, AggregateColumns table) {
    Aggregates aggregates = new Aggregates();
    // Spark may fold every aggregate to a constant, such as the minimum of no column.
    if (aggregation.groupByExpressions().length + aggregation.aggregateExpressions().length == 0) {
      return null;
    }
    if (aggregation.groupByExpressions().length > 0) {
      aggregates.keys = new ArrayList<>();
    }
    for (Expression key : aggregation.groupByExpressions()) {
      if (!aggregates.addKey(GroupKey.of(key, table), table)) {
        return null;
      }
    }
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      if (!aggregates.add(function, table)) {
        return null;
      }
    }
    return aggregates;
  }

  private boolean addKey(GroupKey key, AggregateColumns table) {
    if (key == null || keys.contains(key.result.name())) {
      return false;
    }
    keys.add(key.result.name());
    resultSchema = resultSchema.add(key.result);
    String column = key.column.name();
    if (!table.isOfFolders(key.column) && !columns.getFieldIndex(column).isDefined()) {
      keysOfFiles.add(column);
      columns = columns.add(key.column);
    }
    return true;
  }

  private boolean add(AggregateFunc function, AggregateColumns table) {
    if (function instanceof CountStar) {
      return add("count", null, DataTypes.LongType);
    }
    if (function.children().length != 1) {
      return false;
    }
    StructField column = table.column(name(function.children()[0]));
    if (column == null || table.isOfFolders(column)) {
      return false;
    }
    DataType type = column.dataType();
    boolean integer = INTEGERS.contains(type);
    boolean number = integer || FLOATS.contains(type);
    if (function instanceof Count && !((Count) function).isDistinct()) {
      return add("count", column, DataTypes.LongType);
    } else if (function instanceof Min && (number || type.equals(DataTypes.TimestampNTZType))) {
      return add("min", column, type);
    } else if (function instanceof Max && (number || type.equals(DataTypes.TimestampNTZType))) {
      return add("max", column, type);
    } else if (function instanceof Sum && !((Sum) function).isDistinct()) {
      return (integer ? table.isSumExact(column) : number && table.sumsFloats())
          && add("sum", column, integer ? DataTypes.LongType : DataTypes.DoubleType);
    }
    return false;
  }

  private boolean add(String function, StructField column, DataType result) {
    String name = "a" + request.size();
    while (resultSchema.getFieldIndex(name).isDefined()) {
      name += "_";
    }
    ObjectNode entry = request.addObject().put("name", name).put("function", function);
    if (column != null) {
      entry.put("column", column.name());
      if (!columns.getFieldIndex(column.name()).isDefined()) {
        columns = columns.add(column.name(), column.dataType(), true);
      }
    }
    if (function.equals("sum")) {
      entry.put("wraps", !SQLConf.get().ansiEnabled());
    }
    resultSchema = resultSchema.add(name, result, !function.equals("count"));
    return true;
  }

  static String name(Expression expression) {
    if (!(expression instanceof NamedReference)) {
      return null;
    }
    String[] names = ((NamedReference) expression).fieldNames();
    return names.length == 1 ? names[0] : null;
  }

  boolean isEmpty() {
    return request.isEmpty() && !isGrouped();
  }

  /** Whether the results have a row for each group. */
  boolean isGrouped() {
    return keys != null;
  }

  /** JSON for the native library. */
  String request() {
    return request.toString();
  }

  /** JSON for the native library: the columns of the files by which rows are grouped, or {@code null}. */
  String keys() {
    return isGrouped() ? keysOfFiles.toString() : "null";
  }

  /** The columns of the files by which rows are grouped. */
  ArrayNode keysOfFiles() {
    return keysOfFiles;
  }

  /** The names of all keys by which rows are grouped. */
  List<String> keyNames() {
    return keys;
  }

  /** The columns of the rows that each split returns: keys, then aggregates. */
  StructType resultSchema() {
    return resultSchema;
  }

  /** The values over no rows: each count is 0, everything else is null. */
  static Object[] ofNoRows(StructType resultSchema) {
    return Arrays.stream(resultSchema.fields())
        .map(field -> field.nullable() ? null : 0L)
        .toArray();
  }

  /** The columns that the aggregates and their keys read. */
  StructType columns() {
    return columns;
  }
}
