package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.UnsupportedException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
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
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A planned scan. The driver plans from metadata, and tasks read the splits of their partition. */
final class Hdf5Scan
    implements Scan,
        Batch,
        SupportsReportStatistics,
        SupportsReportOrdering,
        SupportsRuntimeV2Filtering {
  /** Upper bound of the default partition size, in bytes of decoded values. */
  static final long MAX_TARGET_BYTES = 64L << 20;

  /** Lower bound of the default partition size: smaller tasks take longer to schedule than to run. */
  private static final long MIN_TARGET_BYTES = 4L << 20;

  private final StructType readSchema;
  /** The request before runtime filters, which identifies equal scans. */
  private final ObjectNode pushed;
  /** The request with runtime filters. */
  private final ObjectNode request;

  private final Description described;
  private final ReadOptions options;
  private final PredicateText texts;
  private final Aggregates aggregates;
  private final PartitionFilter partitionFilter;
  /** The files of the request, in its order. */
  private List<InputFile> files;
  /** Types of the columns that are in the files. */
  private final Map<String, DataType> types;

  private final SortOrder[] order;
  /** Whether {@link FileMetadata} is read, which a column of the files may be called, too. */
  private final boolean readsFileMetadata;

  /** The request for all columns of the table, by which files are checked; null if damage is an error. */
  private final ObjectNode checkRequest;

  private InputPartition[] partitions;

  Hdf5Scan(
      StructType readSchema,
      ObjectNode request,
      Description described,
      ReadOptions options,
      PredicateText texts,
      Aggregates aggregates,
      PartitionFilter partitionFilter,
      List<InputFile> files,
      Map<String, DataType> types,
      SortOrder[] order,
      boolean readsFileMetadata,
      ObjectNode checkRequest) {
    this.checkRequest = checkRequest;
    this.readsFileMetadata = readsFileMetadata;
    this.partitionFilter = partitionFilter;
    this.files = files;
    this.types = types;
    this.order = order;
    this.readSchema = readSchema;
    this.pushed = request.deepCopy();
    this.request = request;
    this.described = described;
    this.options = options;
    this.texts = texts;
    this.aggregates = aggregates;
  }

  @Override
  public StructType readSchema() {
    return readSchema;
  }

  @Override
  public String description() {
    return "hdf5 " + request.get("dataset").asText() + " of "
        + request.get("files").size() + " of "
        + partitionFilter.folders().files().size()
        + " files, PushedPredicates: "
        + request.get("predicates") + ", PushedLimit: "
        + (request.has("limit") ? request.get("limit").asText() : "none")
        + (request.has("offset") ? ", PushedOffset: " + request.get("offset").asText() : "")
        + (request.has("top") ? ", PushedTopN: " + TopRows.describe(request.get("top")) : "")
        + ", Columns: " + request.get("columns") + ", PushedAggregates: " + aggregates.request()
        + (aggregates.isGrouped() ? ", PushedGroupBy: " + aggregates.keyNames() : "")
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
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    ModificationTimes.checkStream(options);
    if (options.text("catalog") != null) {
      throw new UnsupportedException(
          "a stream with option catalog is not supported: new files are not in the catalog");
    }
    if (described.schema.getFieldIndex("_row").isDefined()) {
      throw new UnsupportedException(
          "a stream of files that have a column \"_row\" is not supported: streams count rows by that name");
    }
    return new Hdf5Stream(this, options);
  }

  /** The partitions of the rows {@code [first, end)} of one file, for a stream. */
  List<InputPartition> planRows(InputFile file, long first, long end) {
    long rowBytes = Math.max(1, described.valueBytes / Math.max(1, described.rows));
    Long target = options.bytes("targetpartitionbytes");
    long step = Math.max(1, (target == null ? MAX_TARGET_BYTES : target) / rowBytes);
    List<InputPartition> planned = new ArrayList<>();
    Object[][] constants = constants(Collections.singletonList(file));
    String check =
        checkRequest == null ? null : FileCheck.partOf(file, "_row >= " + first, "_row < " + end);
    for (long start = first; start < end; start += Math.min(step, end - start)) {
      ObjectNode wanted = requestFor(file);
      ArrayNode predicates = (ArrayNode) wanted.get("predicates");
      predicates.add("_row >= " + start);
      predicates.add("_row < " + (start + Math.min(step, end - start)));
      limitPartitions(1, Long.MAX_VALUE, wanted);
      wanted.put("placement", false);
      planned.add(new SplitPartition(wanted.toString(), file.path, constants, check));
    }
    return planned;
  }

  /** The number of rows that a file has now, before any predicate; -1 if it cannot be read yet. */
  long rowsOf(InputFile file) {
    ObjectNode wanted = requestFor(file);
    wanted.putArray("predicates");
    // Skips files that are damaged, empty or of another format: a program may be writing them.
    wanted.put("ignoreCorrupt", true);
    Description found = Description.withoutReport(wanted);
    return found.hasNoFiles ? -1 : found.rows;
  }

  private ObjectNode requestFor(InputFile file) {
    ObjectNode wanted = request.deepCopy();
    file.addTo(wanted.putArray("files"));
    // A file that cannot be read now is read by a later batch, whole.
    wanted.put("ignoreCorrupt", false).put("ignoreMissing", false).put("wholeFiles", false);
    return wanted;
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
    // Filtering rows after an aggregate, a limit or an offset would change the result.
    if (!aggregates.isEmpty() || request.has("top") || request.has("offset")) {
      return new NamedReference[0];
    }
    // If a file may lack a column, only Spark can test the nulls that replace it.
    boolean values = !options.nullsForMissingColumns();
    return Arrays.stream(readSchema.fields())
        .filter(field -> !isFileMetadata(field)
            && (values || partitionFilter.folders().folderName(field) != null))
        .map(field -> Expressions.column("`" + field.name().replace("`", "``") + "`"))
        .toArray(NamedReference[]::new);
  }

  /** Applies runtime filters, such as the join keys that the running query found. Spark tests them again. */
  @Override
  public void filter(Predicate[] predicates) {
    for (Predicate predicate : predicates) {
      if (partitionFilter.canEvaluate(predicate)) {
        List<InputFile> matching = new ArrayList<>(files);
        matching.removeIf(file -> !partitionFilter.matches(file, predicate));
        keep(matching);
        continue;
      }
      if (options.catalog() != null) {
        keep(options.catalog().matching(files, predicate, types));
      }
      String text = texts.of(predicate);
      if (text != null) {
        ((ArrayNode) request.get("predicates")).add(text);
        partitions = null;
      }
    }
  }

  /** Reads these files only. */
  private void keep(List<InputFile> matching) {
    if (matching.size() == files.size()) {
      return;
    }
    files = matching;
    ArrayNode names = request.putArray("files");
    files.forEach(file -> file.addTo(names));
    partitions = null;
  }

  @Override
  public synchronized InputPartition[] planInputPartitions() {
    if (partitions == null) {
      partitions = plan();
    }
    return partitions;
  }

  /** Limits a request to {@code count} partitions. */
  static void limitPartitions(long count, long valueBytes, ObjectNode request) {
    request.put("partitions", count);
    request.put("targetBytes", Math.max(1, (valueBytes + count - 1) / count));
  }

  private InputPartition[] plan() {
    InputPartition[] planned = files.isEmpty() ? new InputPartition[0] : plan(request, files);
    return planned.length == 0 && !aggregates.isEmpty()
        ? new InputPartition[] {SplitPartition.empty()}
        : planned;
  }

  /** Plans the partitions of a request for {@code files}. */
  private InputPartition[] plan(ObjectNode wanted, List<InputFile> files) {
    ObjectNode planRequest = wanted.deepCopy();
    Long count = options.number("partitions");
    Long target = options.bytes("targetpartitionbytes");
    if (count != null) {
      limitPartitions(count, described.valueBytes, planRequest);
    } else if (target != null) {
      planRequest.put("targetBytes", target);
    } else {
      int cores = SparkSession.active().sparkContext().defaultParallelism();
      planRequest.put("cores", Math.max(1, cores));
      planRequest.put(
          "targetBytes",
          Math.min(
              MAX_TARGET_BYTES,
              Math.max(MIN_TARGET_BYTES, described.valueBytes / Math.max(1, cores))));
    }
    Placement placement = Placement.of(
        SparkSession.active().sparkContext().hadoopConfiguration(),
        InputFile.isAnyRemote(files) ? options.hadoop() : null);
    planRequest.put("placement", placement != null);
    byte[][] answer = Watch.planning(planning -> planning.split(planRequest.toString()));
    JsonNode header = Description.header(answer);
    Description.handleSkipped(header, options);
    List<InputPartition> planned = new ArrayList<>();
    for (JsonNode partition : header.get("partitions")) {
      int first = 1 + partition.get("first").asInt();
      String[] hosts = placement == null ? new String[0] : placement.hosts(partition.get("files"));
      byte[][] splits =
          Arrays.copyOfRange(answer, first, first + partition.get("count").asInt());
      List<InputFile> splitFiles = new ArrayList<>();
      partition.get("splitFiles").forEach(index -> splitFiles.add(files.get(index.asInt())));
      List<String> datasets = new ArrayList<>();
      partition.get("splitDatasets").forEach(name -> datasets.add(name.asText()));
      planned.add(new SplitPartition(
          splits,
          hosts,
          splitFiles.stream().map(file -> file.path).toArray(String[]::new),
          readsFileMetadata ? datasets.toArray(new String[0]) : null,
          constants(splitFiles),
          checkRequest == null
              ? null
              : splitFiles.stream().map(FileCheck::partOf).toArray(String[]::new)));
    }
    return planned.toArray(new InputPartition[0]);
  }

  /** The values of the partition columns to be read, for each file. */
  private Object[][] constants(List<InputFile> splitFiles) {
    StructField[] columns = partitionColumns();
    return columns.length == 0
        ? null
        : splitFiles.stream()
            .map(file ->
                Arrays.stream(columns).map(column -> constant(file, column)).toArray())
            .toArray(Object[][]::new);
  }

  private Object constant(InputFile file, StructField column) {
    return partitionFilter.folders().folderName(column) == null
        ? FileMetadata.of(file, (StructType) column.dataType())
        : partitionFilter.folders().value(file, column);
  }

  /** The columns that have one value for each file. */
  private StructField[] partitionColumns() {
    return Arrays.stream(readSchema.fields())
        .filter(
            field -> partitionFilter.folders().folderName(field) != null || isFileMetadata(field))
        .toArray(StructField[]::new);
  }

  private boolean isFileMetadata(StructField field) {
    return readsFileMetadata && field.name().equals(FileMetadata.NAME);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    boolean isRemote = InputFile.isAnyRemote(partitionFilter.folders().files());
    String[] constants =
        Arrays.stream(partitionColumns()).map(StructField::name).toArray(String[]::new);
    return new BatchReaderFactory(
        readSchema,
        constants,
        options.taskSession(isRemote),
        new SplitQuery(
            aggregates.request(),
            aggregates.keys(),
            request.has("top") ? request.get("top").toString() : "null"),
        checkRequest == null
            ? null
            : new FileCheck(
                checkRequest, options.taskSession(isRemote), isRemote ? options.hadoop() : null),
        options.ignoreMissingFiles(),
        options.badRecords(),
        isRemote ? options.hadoop() : null);
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return Metrics.all();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return Metrics.ofPlanning(
        described.chunksSkipped, partitionFilter.folders().files().size() - files.size());
  }

  /**
   * Scans that read the same rows and columns of the same files are equal, so that Spark reads a table once if a query uses
   * it twice. Spark compares runtime filters itself.
   */
  @Override
  public boolean equals(Object other) {
    if (!(other instanceof Hdf5Scan)) {
      return false;
    }
    Hdf5Scan scan = (Hdf5Scan) other;
    return readSchema.equals(scan.readSchema)
        && pushed.equals(scan.pushed)
        && aggregates.request().equals(scan.aggregates.request())
        && aggregates.keys().equals(scan.aggregates.keys())
        && options.equals(scan.options)
        && described.rows == scan.described.rows;
  }

  @Override
  public int hashCode() {
    return Objects.hash(readSchema, pushed, aggregates.request());
  }
}
