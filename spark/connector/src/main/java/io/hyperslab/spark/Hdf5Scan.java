package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportOrdering;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A planned read. The driver plans from metadata, tasks read the splits that they are given. */
final class Hdf5Scan
    implements Scan,
        Batch,
        SupportsReportStatistics,
        SupportsReportOrdering,
        SupportsRuntimeV2Filtering {
  /** Default of the maximum bytes of values in a partition. */
  private static final long TARGET_BYTES = 64L << 20;

  /** Below this, more tasks cost more than they bring. */
  private static final long LEAST_TARGET_BYTES = 4L << 20;

  private final StructType wanted;
  /** As it was pushed down; equal scans have equal ones. */
  private final ObjectNode pushed;
  /** With what runtime filters have added. */
  private final ObjectNode request;

  private final Description described;
  private final ReadOptions options;
  private final PredicateText texts;
  private final Aggregates aggregates;
  private final PartitionFilter byFolder;
  /** Those of the request, in its order. */
  private List<InputFile> files;

  private final SortOrder[] order;
  private InputPartition[] partitions;

  Hdf5Scan(
      StructType wanted,
      ObjectNode request,
      Description described,
      ReadOptions options,
      PredicateText texts,
      Aggregates aggregates,
      PartitionFilter byFolder,
      List<InputFile> files,
      SortOrder[] order) {
    this.byFolder = byFolder;
    this.files = files;
    this.order = order;
    this.wanted = wanted;
    this.pushed = request.deepCopy();
    this.request = request;
    this.described = described;
    this.options = options;
    this.texts = texts;
    this.aggregates = aggregates;
  }

  @Override
  public StructType readSchema() {
    return wanted;
  }

  @Override
  public String description() {
    return "hdf5 " + request.get("dataset").asText() + " of "
        + request.get("files").size() + " of " + byFolder.folders().files().size()
        + " files, PushedPredicates: "
        + request.get("predicates") + ", PushedLimit: "
        + (request.has("limit") ? request.get("limit").asText() : "none")
        + ", Columns: " + request.get("columns") + ", PushedAggregates: " + aggregates.request()
        + (described.omitted.isEmpty() ? "" : ", NotColumns: " + described.omitted);
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.SUPPORTED;
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public Statistics estimateStatistics() {
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(described.valueBytes);
      }

      @Override
      public OptionalLong numRows() {
        return described.exact ? OptionalLong.of(described.rows) : OptionalLong.empty();
      }
    };
  }

  @Override
  public SortOrder[] outputOrdering() {
    return order;
  }

  @Override
  public NamedReference[] filterAttributes() {
    if (!aggregates.isEmpty()) {
      return new NamedReference[0];
    }
    // Of columns that a file may lack, only Spark can test the nulls.
    boolean values = !options.nullsForMissingColumns();
    return Arrays.stream(wanted.fields())
        .filter(field -> values || byFolder.folders().folderOf(field) != null)
        .map(field -> Expressions.column("`" + field.name().replace("`", "``") + "`"))
        .toArray(NamedReference[]::new);
  }

  /** Values that a join has found to matter, known only while the query runs. Spark tests them again. */
  @Override
  public void filter(Predicate[] predicates) {
    for (Predicate predicate : predicates) {
      if (byFolder.answers(predicate)) {
        files = new ArrayList<>(files);
        files.removeIf(file -> !byFolder.passes(file, predicate));
        ArrayNode names = request.putArray("files");
        files.forEach(file -> file.addTo(names));
        partitions = null;
        continue;
      }
      String text = texts.of(predicate);
      if (text != null) {
        ((ArrayNode) request.get("predicates")).add(text);
        partitions = null;
      }
    }
  }

  @Override
  public synchronized InputPartition[] planInputPartitions() {
    if (partitions == null) {
      partitions = plan();
    }
    return partitions;
  }

  /** Makes a plan of {@code count} partitions at most. */
  static void aimAt(long count, long valueBytes, ObjectNode request) {
    request.put("partitions", count);
    request.put("targetBytes", Math.max(1, (valueBytes + count - 1) / count));
  }

  private InputPartition[] plan() {
    if (files.isEmpty()) {
      return new InputPartition[0];
    }
    ObjectNode asked = request.deepCopy();
    Long count = options.number("partitions");
    Long target = options.bytes("targetpartitionbytes");
    if (count != null) {
      aimAt(count, described.valueBytes, asked);
    } else if (target != null) {
      asked.put("targetBytes", target);
    } else {
      int cores = SparkSession.active().sparkContext().defaultParallelism();
      asked.put("cores", Math.max(1, cores));
      asked.put(
          "targetBytes",
          Math.min(
              TARGET_BYTES,
              Math.max(LEAST_TARGET_BYTES, described.valueBytes / Math.max(1, cores))));
    }
    Placement placement = Placement.of(SparkSession.active().sparkContext().hadoopConfiguration());
    asked.put("placement", placement != null);
    byte[][] answer = Watch.planning(planning -> planning.split(asked.toString()));
    JsonNode header = Description.parse(new String(answer[0], StandardCharsets.UTF_8));
    Description.warnOfSkipped(header);
    List<InputPartition> planned = new ArrayList<>();
    for (JsonNode partition : header.get("partitions")) {
      int first = 1 + partition.get("first").asInt();
      String[] hosts = placement == null ? new String[0] : placement.hosts(partition.get("files"));
      byte[][] splits =
          Arrays.copyOfRange(answer, first, first + partition.get("count").asInt());
      List<InputFile> ofSplits = new ArrayList<>();
      partition.get("splitFiles").forEach(number -> ofSplits.add(files.get(number.asInt())));
      planned.add(new SplitPartition(
          splits,
          hosts,
          ofSplits.stream().map(file -> file.path).toArray(String[]::new),
          constants(ofSplits)));
    }
    return planned.toArray(new InputPartition[0]);
  }

  /** For each file the values of the wanted columns that its folders make. */
  private Object[][] constants(List<InputFile> ofSplits) {
    StructField[] columns = folderColumns();
    return columns.length == 0
        ? null
        : ofSplits.stream()
            .map(file -> Arrays.stream(columns)
                .map(column -> byFolder.folders().value(file, column))
                .toArray())
            .toArray(Object[][]::new);
  }

  private StructField[] folderColumns() {
    return Arrays.stream(wanted.fields())
        .filter(field -> byFolder.folders().folderOf(field) != null)
        .toArray(StructField[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    String[] constants =
        Arrays.stream(folderColumns()).map(StructField::name).toArray(String[]::new);
    return new BatchReaderFactory(
        wanted,
        constants,
        options.taskSession(),
        aggregates.request(),
        options.ignoreCorruptFiles(),
        options.ignoreMissingFiles());
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return Metrics.all();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return Metrics.ofPlanning(described.chunksSkipped);
  }

  /**
   * Scans that read the same rows and columns of the same files are equal, so that Spark reads once what a query names
   * twice. Spark compares runtime filters itself.
   */
  @Override
  public boolean equals(Object other) {
    if (!(other instanceof Hdf5Scan)) {
      return false;
    }
    Hdf5Scan scan = (Hdf5Scan) other;
    return wanted.equals(scan.wanted)
        && pushed.equals(scan.pushed)
        && aggregates.request().equals(scan.aggregates.request())
        && options.equals(scan.options)
        && described.rows == scan.described.rows;
  }

  @Override
  public int hashCode() {
    return Objects.hash(wanted, pushed, aggregates.request());
  }
}
