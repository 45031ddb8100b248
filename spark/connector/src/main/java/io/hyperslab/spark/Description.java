package io.hyperslab.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InternalException;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the native library says of a table, from metadata. */
final class Description {
  private static final Logger LOG = LoggerFactory.getLogger(Description.class);

  final StructType schema;
  /** Rows that the predicates leave, before those that must be tested row by row. */
  final long rows;
  final long valueBytes;
  /** Whether {@link #rows} is the answer, no row being left to test. */
  final boolean exact;

  /** Chunks of the columns to be read that the predicates leave out, whole hyperslabs of them. */
  final long chunksSkipped;

  private final JsonNode listSizes;

  private Description(JsonNode answer) {
    listSizes = answer.get("listSizes");
    schema = (StructType) DataType.fromJson(answer.get("schema").toString());
    rows = answer.get("rows").asLong();
    valueBytes = answer.get("valueBytes").asLong();
    exact = answer.get("exact").asBoolean();
    chunksSkipped = answer.get("chunks").asLong() - answer.get("chunksLeft").asLong();
    warnOfSkipped(answer);
  }

  static Description of(ObjectNode request) {
    return new Description(parse(Watch.planning(planning -> planning.describe(request.toString()))));
  }

  /** The columns of a table: those of its files, then those of their folders. */
  static StructType columnsOf(ReadOptions options) {
    List<InputFile> files = Files.of(options);
    return new PartitionFolders(files).addTo(of(options.request(files)).schema);
  }

  /** Elements of the lists in a column where all lists have as many. */
  long listSize(String column) {
    JsonNode size = listSizes.get(column);
    if (size == null) {
      throw new InternalException("column " + column + " has lists of different lengths");
    }
    return size.asLong();
  }

  static JsonNode parse(String answer) {
    try {
      return ReadOptions.JSON.readTree(answer);
    } catch (JsonProcessingException error) {
      throw new InternalException("the native library's answer is no JSON: " + error.getMessage());
    }
  }

  static void warnOfSkipped(JsonNode answer) {
    answer.get("skipped").forEach(file -> LOG.warn("left out, as options ask: {}", file.asText()));
  }
}
