package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.unsafe.types.UTF8String;

/** The order in which a partition's rows come, as far as columns show it: Spark need not sort them again. */
final class RowOrder {
  private RowOrder() {}

  /**
   * @param request for the rows; files come in its order
   * @param row whether {@code _row} is read
   * @param file whether {@code _file} is read
   */
  static SortOrder[] of(JsonNode request, boolean row, boolean file) {
    JsonNode files = request.get("files");
    boolean rows = row && oneArrayEach(files, request.get("dataset").asText());
    List<SortOrder> order = new ArrayList<>();
    if (files.size() > 1) {
      if (!file || !rising(files)) {
        return new SortOrder[0];
      }
      order.add(ascending("_file"));
    }
    if (rows) {
      order.add(ascending("_row"));
    }
    return order.toArray(new SortOrder[0]);
  }

  private static SortOrder ascending(String column) {
    return Expressions.sort(Expressions.column(column), SortDirection.ASCENDING);
  }

  /** Wildcards make several arrays of a file, each with numbers of its own. */
  private static boolean oneArrayEach(JsonNode files, String common) {
    for (JsonNode file : files) {
      if (file.path("dataset").asText(common).matches(".*[*?].*")) {
        return false;
      }
    }
    return true;
  }

  /** Whether the files come in Spark's order of texts, each once. */
  private static boolean rising(JsonNode files) {
    UTF8String before = null;
    for (JsonNode file : files) {
      UTF8String path = UTF8String.fromString(
          file.isTextual() ? file.asText() : file.get("path").asText());
      if (before != null && before.compareTo(path) >= 0) {
        return false;
      }
      before = path;
    }
    return true;
  }
}
