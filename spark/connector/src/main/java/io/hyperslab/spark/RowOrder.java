package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.unsafe.types.UTF8String;

/** The order of the rows of a partition, as far as metadata columns express it. Spark then does not sort them again. */
final class RowOrder {
  private RowOrder() {}

  /**
   * The order of the rows of a request.
   *
   * @param request the request, with its files in the order in which they are read
   * @param row whether {@code _row} is read
   * @param file whether {@code _file} is read
   */
  static SortOrder[] of(JsonNode request, boolean row, boolean file) {
    JsonNode files = request.get("files");
    // A data model's table numbers the rows of each of its parts, such as steps.
    boolean rows = row
        && !request.has("model")
        && hasOneArrayPerFile(files, request.get("dataset").asText());
    List<SortOrder> order = new ArrayList<>();
    if (files.size() > 1) {
      if (!file || !isAscending(files)) {
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

  /** Whether each file has one array: wildcards can match several, each with its own row positions. */
  private static boolean hasOneArrayPerFile(JsonNode files, String defaultDataset) {
    for (JsonNode file : files) {
      if (file.path("dataset").asText(defaultDataset).matches(".*[*?].*")) {
        return false;
      }
    }
    return true;
  }

  /** Whether the paths are in ascending order, by Spark's comparison of strings, without duplicates. */
  private static boolean isAscending(JsonNode files) {
    UTF8String previous = null;
    for (JsonNode file : files) {
      UTF8String path = UTF8String.fromString(
          file.isTextual() ? file.asText() : file.get("path").asText());
      if (previous != null && previous.compareTo(path) >= 0) {
        return false;
      }
      previous = path;
    }
    return true;
  }
}
