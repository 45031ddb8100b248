package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A catalog of many files, which {@code hyperslab.write_catalog} wrote: what is known of one dataset in each of them without
 * opening it. A file that has changed since it was cataloged counts as one that the catalog does not have.
 */
final class FileCatalog {
  private static final List<String> COLUMNS = Arrays.asList(
      "path",
      "file_bytes",
      "modified",
      "format",
      "dtype",
      "dims",
      "units",
      "standard_name",
      "ranges");

  /** What the catalog says of the dataset of one file. */
  private static final class Known {
    final long bytes;
    final long modified;
    /** Equal for files whose tables probably have the same columns. */
    final List<Object> kind;

    final List<CoordinateRange> ranges;

    Known(Row row, String dataset) {
      bytes = row.getLong(1);
      modified = row.getLong(2);
      List<Object> names = row.getList(5);
      kind = Arrays.asList(row.get(3), row.get(4), names, row.get(6), row.get(7));
      List<Row> all = row.getList(8);
      String name = dataset.substring(dataset.lastIndexOf('/') + 1);
      // A variable of several dimensions that is called like one of them has that column.
      ranges = all.stream()
          .filter(range -> names.size() == 1 || !name.equals(range.getString(0)))
          .map(CoordinateRange::new)
          .collect(Collectors.toList());
    }
  }

  private final Map<String, Known> files = new LinkedHashMap<>();

  private FileCatalog() {}

  /**
   * The catalog of the option {@code catalog}, or null if it is not set.
   *
   * @throws InvalidInputException if the file is not a catalog, or does not have the dataset
   */
  static FileCatalog of(ReadOptions options) {
    String path = options.text("catalog");
    if (path == null) {
      return null;
    }
    String dataset = options.text("dataset");
    if (dataset == null
        || Files.WILDCARD.matcher(dataset).find()
        || options.text("model") != null) {
      throw new UnsupportedException(
          "option catalog needs option dataset with the path of one dataset, because a catalog has a row for each");
    }
    String absolute = "/" + dataset.replaceAll("^/+|/+$", "");
    Dataset<Row> rows = SparkSession.active().read().parquet(path);
    check(rows.schema(), path);
    Column[] columns = COLUMNS.stream().map(functions::col).toArray(Column[]::new);
    FileCatalog catalog = new FileCatalog();
    for (Row row :
        rows.where(functions.col("dataset").equalTo(absolute)).select(columns).collectAsList()) {
      if (row.getString(0).contains("://")) {
        throw new UnsupportedException("the catalog "
            + path
            + " has addresses, such as "
            + row.getString(0)
            + ": only catalogs of local files are taken");
      }
      catalog.files.put(row.getString(0), new Known(row, absolute));
    }
    if (catalog.files.isEmpty()) {
      throw new InvalidInputException(
          "the catalog " + path + " has no dataset \"" + absolute + "\"");
    }
    return catalog;
  }

  private static void check(StructType schema, String path) {
    boolean isCatalog = Arrays.asList(schema.fieldNames()).containsAll(COLUMNS)
        && schema.getFieldIndex("dataset").isDefined()
        && CoordinateRange.isIn(schema.apply("ranges").dataType());
    if (!isCatalog) {
      throw new InvalidInputException(
          path
              + " is not a catalog, or one of another version: write it again with hyperslab.write_catalog");
    }
  }

  /** The paths of all files that have the dataset, in the catalog's order. */
  Collection<String> paths() {
    return files.keySet();
  }

  /** The files that may have rows for which a predicate is true. Others are not opened. */
  List<InputFile> matching(List<InputFile> all, Predicate predicate, Map<String, DataType> types) {
    // Few files are excluded in vain, so only their stamps are looked at.
    return all.parallelStream()
        .filter(file -> {
          Known known = known(file);
          return known == null
              || CoordinateRange.mayMatch(known.ranges, predicate, types)
              || !isUnchanged(file, known);
        })
        .collect(Collectors.toList());
  }

  /** The files whose columns stand for all files: one of each kind, and the files that the catalog does not know. */
  List<InputFile> representatives(List<InputFile> all) {
    // Text in the names of all files determines the type of a column.
    if (all.stream().anyMatch(file -> file.pattern != null)) {
      return all;
    }
    Set<InputFile> known = all.parallelStream()
        .filter(file -> known(file) != null && isUnchanged(file, known(file)))
        .collect(Collectors.toSet());
    Set<List<Object>> kinds = new HashSet<>();
    List<InputFile> some = new ArrayList<>();
    for (InputFile file : all) {
      if (!known.contains(file) || kinds.add(known(file).kind)) {
        some.add(file);
      }
    }
    return some;
  }

  private Known known(InputFile file) {
    return file.listed != null || file.dataset != null ? null : files.get(file.path);
  }

  /** Whether a file has the length and the time of the last change that the catalog has. */
  private static boolean isUnchanged(InputFile file, Known known) {
    Path path = Paths.get(file.path);
    try {
      BasicFileAttributes now = java.nio.file.Files.readAttributes(path, BasicFileAttributes.class);
      return now.size() == known.bytes
          && now.lastModifiedTime().to(TimeUnit.NANOSECONDS) == known.modified;
    } catch (IOException error) {
      // Opening the file tells what is wrong.
      return false;
    }
  }
}
