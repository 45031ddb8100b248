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
final class Hdf5Scan implements Scan, Batch, SupportsReportStatistics, SupportsReportOrdering, SupportsRuntimeV2Filtering {
  /** Bytes of values of a partition, at most, where no option says otherwise. */
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
  private InputPartition[] partitions;

  Hdf5Scan(StructType wanted, ObjectNode request, Description described, ReadOptions options, PredicateText texts, Aggregates aggregates) {
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
    return "hdf5 " + request.get("dataset").asText() + " of " + request.get("files").size() + " files, PushedPredicates: "
        + request.get("predicates") + ", PushedLimit: " + (request.has("limit") ? request.get("limit").asText() : "none")
        + ", Columns: " + request.get("columns") + ", PushedAggregates: " + aggregates.request();
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
    return aggregates.isEmpty() ? RowOrder.of(request, wanted) : new SortOrder[0];
  }

  @Override
  public NamedReference[] filterAttributes() {
    // With columns that a file may lack, only Spark can test.
    if (options.nullsForMissingColumns() || !aggregates.isEmpty()) {
      return new NamedReference[0];
    }
    return Arrays.stream(wanted.fields()).map(StructField::name).map(name -> Expressions.column("`" + name.replace("`", "``") + "`")).toArray(NamedReference[]::new);
  }

  /** Values that a join has found to matter, known only while the query runs. Spark tests them again. */
  @Override
  public void filter(Predicate[] predicates) {
    for (Predicate predicate : predicates) {
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

  private InputPartition[] plan() {
    ObjectNode asked = request.deepCopy();
    Long count = options.number("partitions");
    Long target = options.number("targetpartitionbytes");
    if (count != null) {
      asked.put("partitions", count);
      asked.put("targetBytes", Math.max(1, (described.valueBytes + count - 1) / count));
    } else if (target != null) {
      asked.put("targetBytes", target);
    } else {
      int cores = SparkSession.active().sparkContext().defaultParallelism();
      asked.put("targetBytes", Math.min(TARGET_BYTES, Math.max(LEAST_TARGET_BYTES, described.valueBytes / Math.max(1, cores))));
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
      planned.add(new SplitPartition(Arrays.copyOfRange(answer, first, first + partition.get("count").asInt()), hosts));
    }
    return planned.toArray(new InputPartition[0]);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new BatchReaderFactory(wanted, options.taskSession(), aggregates.request(), options.ignoreCorruptFiles(), options.ignoreMissingFiles());
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
