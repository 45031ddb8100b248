package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/** The first rows in a sort order, which each split returns. The reader sorts as Spark does. */
final class TopRows {
  /** Above this number of rows, sorting them twice costs more than it saves. */
  private static final int MAX_ROWS = 100_000;

  private static final List<DataType> SORTABLE = Arrays.asList(
      DataTypes.BooleanType,
      DataTypes.ByteType,
      DataTypes.ShortType,
      DataTypes.IntegerType,
      DataTypes.LongType,
      DataTypes.FloatType,
      DataTypes.DoubleType,
      DataTypes.StringType,
      DataTypes.DateType,
      DataTypes.TimestampType,
      DataTypes.TimestampNTZType);

  private final ObjectNode request;

  private TopRows(ObjectNode request) {
    this.request = request;
  }

  /**
   * The first {@code rows} rows, or null if the reader cannot sort by the order's columns.
   *
   * @param types types of the columns that the reader can sort by
   */
  static TopRows of(SortOrder[] orders, int rows, Map<String, DataType> types) {
    ObjectNode request = ReadOptions.JSON.createObjectNode();
    ArrayNode keys = request.putArray("keys");
    for (SortOrder order : orders) {
      if (!(order.expression() instanceof NamedReference)) {
        return null;
      }
      String[] name = ((NamedReference) order.expression()).fieldNames();
      DataType type = name.length == 1 ? types.get(name[0]) : null;
      if (type == null || !(SORTABLE.contains(type) || type instanceof DecimalType)) {
        return null;
      }
      keys.addObject()
          .put("column", name[0])
          .put("descending", order.direction() == SortDirection.DESCENDING)
          .put("nullsFirst", order.nullOrdering() == NullOrdering.NULLS_FIRST);
    }
    request.put("count", rows);
    return keys.isEmpty() || rows > MAX_ROWS ? null : new TopRows(request);
  }

  /** JSON for the native library. */
  ObjectNode request() {
    return request;
  }

  /** A request as text, for {@code explain}. */
  static String describe(JsonNode request) {
    StringBuilder text = new StringBuilder("[");
    for (JsonNode key : request.get("keys")) {
      text.append(text.length() == 1 ? "" : ", ")
          .append(key.get("column").asText())
          .append(key.get("descending").asBoolean() ? " DESC" : " ASC")
          .append(key.get("nullsFirst").asBoolean() ? " NULLS FIRST" : " NULLS LAST");
    }
    return text + "] LIMIT " + request.get("count").asText();
  }
}
