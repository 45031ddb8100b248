package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Partition columns: the columns that folders called {@code name=value} become, as in Spark's own sources. */
final class PartitionFolders {
  /** Metadata key of a partition column: the name of its folders, which may differ from the name of the column. */
  private static final String FOLDER = "hyperslab.folder";

  private final List<String> names = new ArrayList<>();
  private final List<DataType> types = new ArrayList<>();
  private final List<InputFile> files;

  /** Partition columns of the files of one table, which must all be in folders of the same names. */
  PartitionFolders(List<InputFile> files) {
    this(files, new ArrayList<>());
  }

  /** @param declared the partition columns of the table if there are no files */
  PartitionFolders(List<InputFile> files, List<String> declared) {
    this.files = files;
    names.addAll(files.isEmpty() ? declared : files.get(0).folders.keySet());
    for (InputFile file : files) {
      if (!new ArrayList<>(file.folders.keySet()).equals(names)) {
        throw new InvalidInputException("the partition columns of " + files.get(0).path + " and "
            + file.path + " differ, " + names + " and " + file.folders.keySet()
            + ": load files with the same partition columns, or set option"
            + " recursiveFileLookup=true to read files without them");
      }
    }
    for (String name : names) {
      DataType type = null;
      for (InputFile file : files) {
        type = PartitionValue.wider(type, PartitionValue.typeOf(file.folders.get(name)));
      }
      types.add(PartitionValue.orText(type));
    }
  }

  static boolean isPartition(Path folder) {
    return isPartition(folder.getFileName().toString());
  }

  static boolean isPartition(String folderName) {
    return folderName.indexOf('=') > 0;
  }

  /** Names and values of the partition folders between {@code folder} and a file below it, with null for Hive's null. */
  static Map<String, String> between(Path folder, Path file) {
    Map<String, String> values = new LinkedHashMap<>();
    for (Path folderName : folder.relativize(file.getParent())) {
      if (isPartition(folderName)) {
        String text = folderName.toString();
        int sign = text.indexOf('=');
        String name = ExternalCatalogUtils.unescapePathName(text.substring(0, sign));
        String value = ExternalCatalogUtils.unescapePathName(text.substring(sign + 1));
        if (values.containsKey(name)) {
          throw new InvalidInputException(
              "two folders of " + file + " have values for partition column \"" + name + "\"");
        }
        values.put(name, value.equals(PartitionValue.HIVE_NULL) ? null : value);
      }
    }
    return values;
  }

  /** The folder of a file's partition: the innermost one below {@code folder} that is called {@code name=value}. */
  static Path innermost(Path folder, Path file) {
    Path partition = file.getParent();
    while (!partition.equals(folder) && !isPartition(partition)) {
      partition = partition.getParent();
    }
    return partition;
  }

  boolean isEmpty() {
    return names.isEmpty();
  }

  /** The names of the folders, from the outermost inward. */
  List<String> names() {
    return names;
  }

  /** Appends the partition columns to the columns of the files. A name that exists already gets the suffix {@code _part}. */
  StructType addTo(StructType table) {
    StructType all = table;
    for (int i = 0; i < names.size(); i++) {
      String name = names.get(i);
      while (all.getFieldIndex(name).isDefined()) {
        name += "_part";
      }
      all = all.add(new StructField(
          name,
          types.get(i),
          true,
          new MetadataBuilder().putString(FOLDER, names.get(i)).build()));
    }
    return all;
  }

  /** Whether the folders of this name have a column of another name, because the files have one of this name. */
  static boolean isRenamed(StructType table, String folder) {
    for (StructField field : table.fields()) {
      if (field.metadata().contains(FOLDER)
          && field.metadata().getString(FOLDER).equals(folder)
          && !field.name().equals(folder)) {
        return true;
      }
    }
    return false;
  }

  /** The name of the folders of a partition column, or null for a column of the files. */
  String folderName(StructField column) {
    if (column.metadata().contains(FOLDER) && names.contains(column.metadata().getString(FOLDER))) {
      return column.metadata().getString(FOLDER);
    }
    return null;
  }

  /**
   * Marks the partition columns in a schema from the user or a catalog, so that {@link #folderName} recognizes them. As in
   * Spark, they take precedence over columns of the files of the same name.
   */
  StructType mark(StructType table) {
    StructType marked = new StructType();
    boolean marks = false;
    for (StructField field : table.fields()) {
      marks |= folderName(field) != null;
    }
    for (StructField field : table.fields()) {
      boolean folder = !marks && names.contains(field.name());
      marked = marked.add(
          folder
              ? new StructField(
                  field.name(),
                  field.dataType(),
                  true,
                  new MetadataBuilder()
                      .withMetadata(field.metadata())
                      .putString(FOLDER, field.name())
                      .build())
              : field);
    }
    return marked;
  }

  /** Checks that the folders' names are values of the type that a schema gives a partition column. */
  void check(StructField column) {
    DataType type = column.dataType();
    if (type.equals(types.get(names.indexOf(folderName(column)))) || PartitionValue.isText(type)) {
      return;
    }
    for (InputFile file : files) {
      String value = file.folders.get(folderName(column));
      if (!PartitionValue.isValue(value, type)) {
        throw new InvalidInputException("column \"" + column.name() + "\" is "
            + type.catalogString() + " in the table, but the partition folder of " + file.path
            + " is named \"" + value + "\"");
      }
    }
  }

  /** The value of a partition column for a file, in Spark's internal representation. */
  Object value(InputFile file, StructField column) {
    return PartitionValue.of(file.folders.get(folderName(column)), column.dataType());
  }

  List<InputFile> files() {
    return files;
  }
}
