package io.hyperslab.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InvalidInputException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownOffset;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Pushes columns, predicates, limits and aggregates down from Spark to the reader. */
final class Hdf5ScanBuilder
    implements ScanBuilder,
        SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownLimit,
        SupportsPushDownOffset,
        SupportsPushDownTopN,
        SupportsPushDownAggregates {

  private static final String ROW = "_row";
  private static final String FILE = "_file";

  /** Maximum number of files that are planned once more to know their rows, only for a limit. */
  private static final int MAX_FILES_WITH_KNOWN_ROWS = 100;

  /** Rows that a group must have on average, so that aggregates are fewer than rows. */
  private static final long MIN_ROWS_OF_GROUP = 4;

  private final StructType table;
  private final ReadOptions options;
  private final PartitionFolders folders;
  private final PartitionFilter partitionFilter;
  /** The files that match the predicates on partition columns. */
  private List<InputFile> files;

  private final PredicateText texts;
  private final Map<String, DataType> types = new HashMap<>();
  private StructType readSchema;
  private Predicate[] pushed = {};
  private final List<String> predicates = new ArrayList<>();
  private Integer limit;
  /** The rows to skip, if the scan has exactly the rows from there to the limit. */
  private Integer offset;

  private TopRows top;
  private Description counted;
  private long[] counts;
  private Aggregates aggregates = Aggregates.none();
  /** The table with the groups of {@link #aggregates}, if they have groups. */
  private Description grouped;

  private final AggregateColumns aggregateColumns;

  Hdf5ScanBuilder(StructType schema, ReadOptions options, List<InputFile> files) {
    this.options = options;
    this.files = files;
    this.folders = new PartitionFolders(files);
    this.table = folders.mark(schema);
    this.partitionFilter = new PartitionFilter(folders, table);
    this.readSchema = table;
    types.put(ROW, DataTypes.LongType);
    types.put(FILE, DataTypes.StringType);
    // A column of the files takes precedence over a metadata column of the same name.
    for (StructField field : table.fields()) {
      if (folders.folderName(field) == null) {
        types.put(field.name(), field.dataType());
      } else {
        folders.check(field);
        types.remove(field.name());
      }
    }
    this.texts = new PredicateText(types);
    this.aggregateColumns = new AggregateColumns(
        table, types, folders, options.flag("sumfloats", false), () -> countRows().rows);
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] all) {
    List<Predicate> accepted = new ArrayList<>();
    List<Predicate> remaining = new ArrayList<>();
    List<InputFile> matching = new ArrayList<>(files);
    for (Predicate predicate : all) {
      if (partitionFilter.canEvaluate(predicate)) {
        matching.removeIf(file -> !partitionFilter.matches(file, predicate));
        accepted.add(predicate);
        continue;
      }
      if (options.catalog() != null) {
        matching = options.catalog().matching(matching, predicate, types);
      }
      // If a file may lack a column, Spark tests the nulls that replace it.
      String text = options.nullsForMissingColumns() ? null : texts.of(predicate);
      if (text == null) {
        remaining.add(predicate);
      } else {
        accepted.add(predicate);
        predicates.add(text);
      }
    }
    files = matching;
    pushed = accepted.toArray(new Predicate[0]);
    return remaining.toArray(new Predicate[0]);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed;
  }

  /** Prunes whole columns. Spark may request single members of a struct; it gets the whole struct and selects them. */
  @Override
  public void pruneColumns(StructType required) {
    readSchema = new StructType();
    for (StructField field : required.fields()) {
      StructField whole = field;
      for (StructField candidate : table.fields()) {
        whole = candidate.name().equals(field.name()) ? candidate : whole;
      }
      readSchema = readSchema.add(whole);
    }
  }

  /**
   * If the rows of each file are known, partitions have exactly the rows up to the limit. Otherwise each stops at the limit, and
   * Spark applies it to all partitions together.
   */
  @Override
  public boolean pushLimit(int rows) {
    limit = rows;
    if (hasKnownRows()) {
      offset = 0;
    }
    return true;
  }

  /** Spark calls this after {@link #pushLimit}, whose limit counts the skipped rows, too, or without a limit. */
  @Override
  public boolean pushOffset(int rows) {
    if (offset == null && !hasKnownRows()) {
      return false;
    }
    offset = rows;
    return true;
  }

  /** Each split returns its first rows; Spark sorts the rows of all splits. */
  @Override
  public boolean pushTopN(SortOrder[] orders, int rows) {
    // The native library finds rows again by "_row". A file that lacks a column has no order by it.
    top = options.nullsForMissingColumns() || table.getFieldIndex(ROW).isDefined()
        ? null
        : TopRows.of(orders, rows, types);
    return top != null;
  }

  @Override
  public boolean isPartiallyPushed() {
    return top != null || offset == null;
  }

  /** Whether the number of rows that each file has in the result follows from shapes, and no file can be skipped. */
  private boolean hasKnownRows() {
    if (files.isEmpty()
        || files.size() > MAX_FILES_WITH_KNOWN_ROWS
        || options.ignoreCorruptFiles()
        || options.ignoreMissingFiles()
        || options.nullsForMissingColumns()) {
      return false;
    }
    return countRows().exact;
  }

  private Description countRows() {
    if (counted == null) {
      counted = Description.of(request(new StructType()), options);
    }
    return counted;
  }

  /** The request that {@link FileCheck} extends by a file: all columns of the table. Null if damage is an error. */
  private ObjectNode checkRequest() {
    if (!options.ignoreCorruptFiles()) {
      return null;
    }
    ObjectNode request = request(table);
    request.put("ignoreCorrupt", false).put("ignoreMissing", false);
    request.putArray("files");
    request.putArray("predicates");
    return request;
  }

  /** Spark calls this only if every predicate was pushed down. */
  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    if (supportCompletePushDown(aggregation)) {
      counts = new long[aggregation.aggregateExpressions().length];
      Arrays.fill(counts, files.isEmpty() ? 0 : counted.rows);
      return true;
    }
    // A file that lacks the column cannot compute its aggregates.
    Aggregates pushable = files.isEmpty() || options.nullsForMissingColumns()
        ? null
        : Aggregates.of(aggregation, aggregateColumns);
    if (pushable == null || (pushable.isGrouped() && !canGroup(pushable))) {
      return false;
    }
    aggregates = pushable;
    return true;
  }

  /** Whether splits have their groups from coordinates, and each group has several rows. */
  private boolean canGroup(Aggregates pushable) {
    ObjectNode request = request(pushable.columns());
    request.set("keys", pushable.keysOfFiles());
    grouped = Description.of(request, options);
    return grouped.groups != null
        && (grouped.rows == 0 || grouped.groups <= grouped.rows / MIN_ROWS_OF_GROUP);
  }

  /** Whether the aggregates are counts of rows that follow from shapes. Spark calls this first. */
  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    aggregateColumns.note(aggregation);
    if (aggregation.groupByExpressions().length > 0
        || aggregation.aggregateExpressions().length == 0) {
      return false;
    }
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      if (!(function instanceof CountStar) && !countsEveryRow(function)) {
        return false;
      }
    }
    if (files.isEmpty()) {
      return true;
    }
    // Shapes do not tell which files are damaged inside.
    if (options.ignoreCorruptFiles() || !countRows().exact) {
      return false;
    }
    checkCounted(aggregation);
    return true;
  }

  /** Checks that the files have the columns that are counted, without nulls, as the table's schema says. */
  private void checkCounted(Aggregation aggregation) {
    StructType columns = new StructType();
    for (AggregateFunc function : aggregation.aggregateExpressions()) {
      if (function instanceof Count) {
        String name = ((NamedReference) ((Count) function).column()).fieldNames()[0];
        columns = columns.add(table.apply(name));
      }
    }
    if (!columns.isEmpty()) {
      check(columns, Description.of(request(columns), options));
    }
  }

  private boolean countsEveryRow(AggregateFunc function) {
    if (!(function instanceof Count)
        || ((Count) function).isDistinct()
        || !(((Count) function).column() instanceof NamedReference)) {
      return false;
    }
    String[] name = ((NamedReference) ((Count) function).column()).fieldNames();
    for (StructField field : table.fields()) {
      if (name.length == 1 && field.name().equals(name[0])) {
        return !field.nullable() && !options.nullsForMissingColumns();
      }
    }
    return false;
  }

  private ObjectNode request(StructType columns) {
    ObjectNode request = options.request(files);
    predicates.forEach(
        ((com.fasterxml.jackson.databind.node.ArrayNode) request.get("predicates"))::add);
    com.fasterxml.jackson.databind.node.ArrayNode names = request.putArray("columns");
    for (StructField field : columns.fields()) {
      if (folders.folderName(field) == null && !isFileMetadata(field.name())) {
        names.add(field.name());
      }
    }
    // The text of a wildcard may be an integer in one file and a string in another.
    com.fasterxml.jackson.databind.node.ArrayNode texts = request.putArray("texts");
    for (StructField field : table.fields()) {
      if (field.dataType().equals(DataTypes.StringType) && folders.folderName(field) == null) {
        texts.add(field.name());
      }
    }
    return request;
  }

  /** Whether a column is the metadata column of files, which is not in the files. */
  private boolean isFileMetadata(String name) {
    return name.equals(FileMetadata.NAME) && !table.getFieldIndex(name).isDefined();
  }

  /** Whether Spark reads the metadata column of this name, and the files have no such column. */
  private boolean readsMetadataColumn(String name) {
    return readSchema.getFieldIndex(name).isDefined()
        && !table.getFieldIndex(name).isDefined();
  }

  @Override
  public Scan build() {
    if (counts != null) {
      return new CountScan(counts);
    }
    if (files.isEmpty()) {
      return new EmptyScan(
          readSchema, () -> new Hdf5ScanBuilder(table, options, Files.ofTable(options)).build());
    }
    if (!aggregates.isEmpty()) {
      readSchema = aggregates.columns();
      ObjectNode request = request(readSchema);
      Description described = aggregates.isGrouped() ? grouped : Description.of(request, options);
      check(readSchema, described);
      return new Hdf5Scan(
          aggregates.resultSchema(),
          request,
          described,
          options,
          texts,
          aggregates,
          partitionFilter,
          files,
          types,
          new SortOrder[0],
          false,
          checkRequest());
    }
    ObjectNode request = request(readSchema);
    if (limit != null) {
      request.put("limit", limit);
    }
    if (offset != null) {
      request.put("offset", offset);
    }
    if (top != null) {
      request.set("top", top.request());
    }
    Description described = Description.of(request, options);
    check(readSchema, described);
    return new Hdf5Scan(
        readSchema,
        request,
        described,
        options,
        texts,
        aggregates,
        partitionFilter,
        files,
        types,
        RowOrder.of(request, readsMetadataColumn(ROW), readsMetadataColumn(FILE)),
        readsMetadataColumn(FileMetadata.NAME),
        checkRequest());
  }

  /** Checks columns of the table, whose schema may come from a catalog or the user, against columns of the files. */
  private void check(StructType columns, Description described) {
    if (described.hasNoFiles) {
      return;
    }
    String where = " in the files, such as " + files.get(0).path;
    for (StructField field : columns.fields()) {
      if (folders.folderName(field) != null || isFileMetadata(field.name())) {
        continue;
      }
      StructField found = null;
      for (StructField candidate : described.schema.fields()) {
        found = candidate.name().equals(field.name()) ? candidate : found;
      }
      if (found == null) {
        if (options.nullsForMissingColumns() && field.nullable()) {
          continue;
        }
        throw new InvalidInputException(
            "column \"" + field.name() + "\" of the table is missing" + where);
      }
      if (!found.dataType().catalogString().equals(field.dataType().catalogString())) {
        throw new InvalidInputException(
            "column \"" + field.name() + "\" is " + field.dataType().catalogString()
                + " in the table and " + found.dataType().catalogString() + where);
      }
      if (found.nullable() && !field.nullable()) {
        throw new InvalidInputException(
            "column \"" + field.name() + "\" can be null" + where + ", but not in the table");
      }
    }
  }
}
