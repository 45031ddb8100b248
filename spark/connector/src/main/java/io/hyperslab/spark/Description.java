package io.hyperslab.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InternalException;
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

  private Description(JsonNode answer) {
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

  static JsonNode parse(String answer) {
    try {
      return ReadOptions.JSON.readTree(answer);
    } catch (JsonProcessingException error) {
      throw new InternalException("the native library's answer is no JSON: " + error.getMessage());
    }
  }

  static void warnOfSkipped(JsonNode answer) {
    answer.get("skipped").forEach(file -> LOG.warn("left out, as ignoreCorruptFiles or ignoreMissingFiles asks: {}", file.asText()));
  }
}
