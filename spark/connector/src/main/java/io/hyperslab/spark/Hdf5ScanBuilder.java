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
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Takes from Spark what the reader does better: columns, predicates, limits and counts. */
final class Hdf5ScanBuilder
    implements ScanBuilder,
        SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownLimit,
        SupportsPushDownAggregates {

  private static final String ROW = "_row";
  private static final String FILE = "_file";

  private final StructType table;
  private final ReadOptions options;
  private final PartitionFolders folders;
  private final PartitionFilter byFolder;
  /** Those that predicates on columns of folders leave. */
  private List<InputFile> files;

  private final PredicateText texts;
  private final Map<String, DataType> types = new HashMap<>();
  private StructType wanted;
  private Predicate[] pushed = {};
  private final List<String> predicates = new ArrayList<>();
  private Integer limit;
  private Description counted;
  private long[] counts;
  private Aggregates aggregates = Aggregates.none();

  Hdf5ScanBuilder(StructType given, ReadOptions options) {
    this.options = options;
    this.files = Files.of(options);
    this.folders = new PartitionFolders(files);
    this.table = folders.mark(given);
    this.byFolder = new PartitionFilter(folders, table);
    this.wanted = table;
    types.put(ROW, DataTypes.LongType);
    types.put(FILE, DataTypes.StringType);
    // A column of the files comes before ours of the same name.
    for (StructField field : table.fields()) {
      if (folders.folderOf(field) == null) {
        types.put(field.name(), field.dataType());
      } else {
        folders.check(field);
        types.remove(field.name());
      }
    }
    this.texts = new PredicateText(types);
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] all) {
    List<Predicate> ours = new ArrayList<>();
    List<Predicate> left = new ArrayList<>();
    List<InputFile> kept = new ArrayList<>(files);
    for (Predicate predicate : all) {
      if (byFolder.answers(predicate)) {
        kept.removeIf(file -> !byFolder.passes(file, predicate));
        ours.add(predicate);
        continue;
      }
      // If a file may lack a column, Spark tests the nulls that replace it.
      String text = options.nullsForMissingColumns() ? null : texts.of(predicate);
      if (text == null) {
        left.add(predicate);
      } else {
        ours.add(predicate);
        predicates.add(text);
      }
    }
    files = kept;
    pushed = ours.toArray(new Predicate[0]);
    return left.toArray(new Predicate[0]);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed;
  }

  /** Whole columns: Spark also asks for some members of a struct, and takes them from all. */
  @Override
  public void pruneColumns(StructType required) {
    wanted = new StructType();
    for (StructField field : required.fields()) {
      StructField whole = field;
      for (StructField candidate : table.fields()) {
        whole = candidate.name().equals(field.name()) ? candidate : whole;
      }
      wanted = wanted.add(whole);
    }
  }

  /** Each partition stops there; Spark stops over all of them. */
  @Override
  public boolean pushLimit(int most) {
    limit = most;
    return true;
  }

  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  /** Only asked when every predicate was taken. */
  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    if (supportCompletePushDown(aggregation)) {
      counts = new long[aggregation.aggregateExpressions().length];
      Arrays.fill(counts, files.isEmpty() ? 0 : counted.rows);
      return true;
    }
    // A file without the column has no minimum.
    Aggregates pushable = files.isEmpty() || options.nullsForMissingColumns()
        ? null
        : Aggregates.of(aggregation, types, options.flag("sumfloats", false));
    if (pushable == null) {
      return false;
    }
    aggregates = pushable;
    return true;
  }

  /** Whether the aggregates are counts only, which follow from the shapes. */
  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    if (aggregation.groupByExpressions().length > 0) {
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
    if (counted == null) {
      counted = Description.of(request(new StructType()));
    }
    return counted.exact;
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
      if (folders.folderOf(field) == null) {
        names.add(field.name());
      }
    }
    // What a wildcard stands for may be a number in this file and a word in another.
    com.fasterxml.jackson.databind.node.ArrayNode texts = request.putArray("texts");
    for (StructField field : table.fields()) {
      if (field.dataType().equals(DataTypes.StringType) && folders.folderOf(field) == null) {
        texts.add(field.name());
      }
    }
    return request;
  }

  /** Whether Spark wants our column of this name, and not one that the files have. */
  private boolean ours(String name) {
    return wanted.getFieldIndex(name).isDefined() && !table.getFieldIndex(name).isDefined();
  }

  @Override
  public Scan build() {
    if (counts != null) {
      return new CountScan(counts);
    }
    if (files.isEmpty()) {
      return new EmptyScan(wanted);
    }
    if (!aggregates.isEmpty()) {
      wanted = aggregates.columns();
      ObjectNode request = request(wanted);
      Description described = Description.of(request);
      check(described.schema);
      return new Hdf5Scan(
          aggregates.answer(),
          request,
          described,
          options,
          texts,
          aggregates,
          byFolder,
          files,
          new SortOrder[0]);
    }
    ObjectNode request = request(wanted);
    if (limit != null) {
      request.put("limit", limit);
    }
    Description described = Description.of(request);
    check(described.schema);
    return new Hdf5Scan(
        wanted,
        request,
        described,
        options,
        texts,
        aggregates,
        byFolder,
        files,
        RowOrder.of(request, ours(ROW), ours(FILE)));
  }

  /** The table's schema may come from a catalog or from the user, the files are what they are. */
  private void check(StructType actual) {
    for (StructField field : wanted.fields()) {
      if (folders.folderOf(field) != null) {
        continue;
      }
      StructField there = null;
      for (StructField candidate : actual.fields()) {
        there = candidate.name().equals(field.name()) ? candidate : there;
      }
      if (there == null) {
        if (options.nullsForMissingColumns() && field.nullable()) {
          continue;
        }
        throw new InvalidInputException(
            "the table has a column " + field.name() + ", the files have not");
      }
      if (!there.dataType().catalogString().equals(field.dataType().catalogString())) {
        throw new InvalidInputException(
            "column " + field.name() + " is " + field.dataType().catalogString()
                + " in the table and " + there.dataType().catalogString() + " in the files");
      }
      if (there.nullable() && !field.nullable()) {
        throw new InvalidInputException(
            "column " + field.name() + " can be null in the files, but not in the table");
      }
    }
  }
}
