package io.hyperslab.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InternalException;
import io.hyperslab.InvalidInputException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The description of a table by the native library, from metadata. */
final class Description {
  private static final Logger LOG = LoggerFactory.getLogger(Description.class);

  /** Maximum number of members that a message names; it counts the others. */
  private static final int MAX_NAMED = 10;

  final StructType schema;
  /** Whether every file was skipped, so that the table has no rows now, and {@link #schema} no columns. */
  final boolean hasNoFiles;

  /** Number of rows after the predicates that metadata can resolve: an upper bound unless {@link #exact}. */
  final long rows;

  /** Bytes of the decoded values. */
  final long valueBytes;

  /** Whether {@link #rows} is exact: no predicate must be tested row by row. */
  final boolean exact;

  /** Number of chunks of the columns to be read that the predicates exclude. */
  final long chunksSkipped;

  /** Upper bound of the number of groups by the keys of the request; null if splits cannot compute them. */
  final Long groups;

  /** Bytes of the chunks of a range of rows, if rows are lists and have several chunks; else 0. */
  final long chunkRowBytes;

  private final JsonNode listSizes;

  /** Members of the group that are not columns, each with the reason. */
  final List<String> omitted = new ArrayList<>();

  private Description(JsonNode answer) {
    listSizes = answer.get("listSizes");
    chunkRowBytes = answer.get("chunkRowBytes").asLong();
    schema = (StructType) DataType.fromJson(answer.get("schema").toString());
    hasNoFiles = answer.get("files").asLong() == 0;
    rows = answer.get("rows").asLong();
    valueBytes = answer.get("valueBytes").asLong();
    exact = answer.get("exact").asBoolean();
    groups = answer.get("groups").isNull() ? null : answer.get("groups").asLong();
    chunksSkipped = answer.get("chunks").asLong() - answer.get("chunksLeft").asLong();
    answer
        .get("omitted")
        .forEach(member ->
            omitted.add(member.get("name").asText() + " " + member.get("reason").asText()));
  }

  static Description of(ObjectNode request, ReadOptions options) {
    JsonNode answer = parse(Watch.planning(planning -> planning.describe(request.toString())));
    handleSkipped(answer, options);
    return new Description(answer);
  }

  /** The same for files that are tried again, so that skipping them is not reported as damage. */
  static Description withoutReport(ObjectNode request) {
    return new Description(
        parse(Watch.planning(planning -> planning.describe(request.toString()))));
  }

  /** The columns of a table: columns of its files, then columns of their folders. */
  static StructType columnsOf(ReadOptions options) {
    return columnsOf(options, Files.of(options));
  }

  /** The columns of a table of these files. */
  static StructType columnsOf(ReadOptions options, List<InputFile> files) {
    FileCatalog catalog = options.catalog();
    List<InputFile> described = catalog == null ? files : catalog.representatives(files);
    return new PartitionFolders(files)
        .addTo(of(options.request(described), options).withoutOmitted(options).schema);
  }

  /** Handles members of the group that are not columns as the option {@code omitted} says: a warning, an error or nothing. */
  Description withoutOmitted(ReadOptions options) {
    String action = options.omitted();
    if (omitted.isEmpty() || action.equals("ignore")) {
      return this;
    }
    String names = String.join("; ", omitted.subList(0, Math.min(MAX_NAMED, omitted.size())));
    int more = omitted.size() - MAX_NAMED;
    String text =
        "members that are not columns: " + names + (more > 0 ? "; and " + more + " more" : "");
    if (action.equals("error")) {
      throw new InvalidInputException(
          text + "; read these datasets with option dataset, or set option omitted=ignore");
    }
    String table = options.text("table") == null ? options.text("dataset") : options.text("table");
    LOG.warn("{}: {}", table == null ? "/" : table, text);
    return this;
  }

  /** Number of elements of every list in a column whose lists have the same length. */
  long listSize(String column) {
    JsonNode size = listSizes.get(column);
    if (size == null) {
      throw new InternalException("column \"" + column + "\" has lists of different lengths");
    }
    return size.asLong();
  }

  /** The first element of the answer to a request for splits. */
  static JsonNode header(byte[][] splits) {
    return parse(new String(splits[0], StandardCharsets.UTF_8));
  }

  static JsonNode parse(String answer) {
    try {
      return ReadOptions.JSON.readTree(answer);
    } catch (JsonProcessingException error) {
      throw new InternalException(
          "the native library returned invalid JSON: " + error.getMessage());
    }
  }

  /** Warns of the files that were skipped, and names them in the folder of the option {@code badRecordsPath}. */
  static void handleSkipped(JsonNode answer, ReadOptions options) {
    BadRecords badRecords = options.badRecords();
    answer.get("skipped").forEach(file -> {
      LOG.warn("skipped a file, as the options allow: {}", file.asText());
      if (badRecords != null) {
        badRecords.add(file.asText());
      }
    });
  }
}
