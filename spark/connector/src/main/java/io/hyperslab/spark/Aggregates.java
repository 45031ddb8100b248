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

/** Aggregates that the reader answers for each of its splits; Spark puts the answers together. */
final class Aggregates {
  private static final List<DataType> INTEGERS = Arrays.asList(
      DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType);

  private static final List<DataType> FLOATS =
      Arrays.asList(DataTypes.FloatType, DataTypes.DoubleType);

  private final ArrayNode request = ReadOptions.JSON.createArrayNode();
  private StructType answer = new StructType();
  private StructType columns = new StructType();

  /** None: rows are read. */
  static Aggregates none() {
    return new Aggregates();
  }

  /** What the reader can answer just as Spark would, or null. */
  static Aggregates of(Aggregation aggregation, Map<String, DataType> types, boolean sumFloats) {
    Aggregates aggregates = new Aggregates();
    if (aggregation.groupByExpressions().length > 0) {
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
    ObjectNode asked = request.addObject().put("function", function);
    if (column != null) {
      asked.put("column", column);
      if (!Arrays.asList(columns.fieldNames()).contains(column)) {
        columns = columns.add(column, type, true);
      }
    }
    if (function.equals("sum")) {
      asked.put("wraps", !SQLConf.get().ansiEnabled());
    }
    answer = answer.add("a" + answer.length(), result, !function.equals("count"));
    return true;
  }

  private static String name(Expression expression) {
    if (!(expression instanceof NamedReference)) {
      return null;
    }
    String[] parts = ((NamedReference) expression).fieldNames();
    return parts.length == 1 ? parts[0] : null;
  }

  boolean isEmpty() {
    return request.isEmpty();
  }

  /** As the native library reads it. */
  String request() {
    return request.toString();
  }

  /** The columns of the one row that each split answers with. */
  StructType answer() {
    return answer;
  }

  /** The columns that must be read. */
  StructType columns() {
    return columns;
  }
}
