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

/** Columns of folders called {@code name=value}, as Spark's own sources make them. */
final class PartitionFolders {
  /** In a column's metadata: the name that folders have for it, which another column of the files may have, too. */
  private static final String FOLDER = "hyperslab.folder";

  private final List<String> names = new ArrayList<>();
  private final List<DataType> types = new ArrayList<>();
  private final List<InputFile> files;

  /** Of the files of one table, which must all lie in folders of the same names. */
  PartitionFolders(List<InputFile> files) {
    this.files = files;
    if (files.isEmpty()) {
      return;
    }
    names.addAll(files.get(0).folders.keySet());
    for (InputFile file : files) {
      if (!new ArrayList<>(file.folders.keySet()).equals(names)) {
        throw new InvalidInputException("the folders of " + files.get(0).path + " and " + file.path
            + " make different columns, " + names + " and " + file.folders.keySet()
            + ": give folders of one kind, or option recursiveFileLookup=true for no columns");
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

  static boolean is(Path folder) {
    return folder.getFileName().toString().indexOf('=') > 0;
  }

  /** What the folders between {@code folder} and a file below it say; a null value is Hive's name for one. */
  static Map<String, String> between(Path folder, Path file) {
    Map<String, String> values = new LinkedHashMap<>();
    for (Path part : folder.relativize(file.getParent())) {
      if (is(part)) {
        String text = part.toString();
        int sign = text.indexOf('=');
        String name = ExternalCatalogUtils.unescapePathName(text.substring(0, sign));
        String value = ExternalCatalogUtils.unescapePathName(text.substring(sign + 1));
        if (values.containsKey(name)) {
          throw new InvalidInputException(
              "two folders of " + file + " are called \"" + name + "=\", and make one column");
        }
        values.put(name, value.equals(PartitionValue.HIVE_NULL) ? null : value);
      }
    }
    return values;
  }

  boolean isEmpty() {
    return names.isEmpty();
  }

  /** The columns of the files, then those of the folders; a name that is taken gets the suffix {@code _part}. */
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

  /** The name of the folders that make a column of a table, or null for a column of the files. */
  String folderOf(StructField column) {
    if (column.metadata().contains(FOLDER) && names.contains(column.metadata().getString(FOLDER))) {
      return column.metadata().getString(FOLDER);
    }
    return null;
  }

  /**
   * Marks the folder columns in a schema that a user or a catalog made, so that
   * {@link #folderOf} knows them. As in Spark, they win over columns of the files that have the same name.
   */
  StructType mark(StructType table) {
    StructType marked = new StructType();
    boolean ours = false;
    for (StructField field : table.fields()) {
      ours |= folderOf(field) != null;
    }
    for (StructField field : table.fields()) {
      boolean folder = !ours && names.contains(field.name());
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

  /** Refuses a column that a schema gives another type than folders have; text is fine for all. */
  void check(StructField column) {
    DataType type = types.get(names.indexOf(folderOf(column)));
    if (!column.dataType().equals(type) && !PartitionValue.isText(column.dataType())) {
      throw new InvalidInputException(
          "column " + column.name() + " is " + column.dataType().catalogString()
              + " in the table and " + type.catalogString() + " in the names of the folders");
    }
  }

  /** The value of a column in a file of the table, in Spark's own form. */
  Object value(InputFile file, StructField column) {
    return PartitionValue.of(file.folders.get(folderOf(column)), column.dataType());
  }

  List<InputFile> files() {
    return files;
  }
}
