package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;

/** The columns of {@code PARTITIONED BY}. */
final class TablePartitions {
  static final Transform[] NONE = {};

  private TablePartitions() {}

  /**
   * The names of the columns. Folders of a name that is not a column of the table are left out: the user's schema does not
   * have it, or a column of the files has that name.
   *
   * @throws UnsupportedException if the table is clustered, or partitioned by anything but columns whose values can be the
   *     names of folders
   */
  static List<String> names(StructType table, Transform[] partitioning) {
    List<String> names = new ArrayList<>();
    for (Transform transform : partitioning) {
      NamedReference[] columns = transform.references();
      if (!transform.name().equals("identity")
          || columns.length != 1
          || columns[0].fieldNames().length != 1) {
        throw new UnsupportedException("a table that is partitioned or clustered by "
            + transform.describe() + " is not supported: use PARTITIONED BY with names of columns");
      }
      String name = columns[0].fieldNames()[0];
      if (!table.getFieldIndex(name).isDefined() || PartitionFolders.isRenamed(table, name)) {
        continue;
      }
      if (!PartitionValue.isType(table.apply(name).dataType())) {
        throw new UnsupportedException(
            "PARTITIONED BY \"" + name + "\" is not supported: values of type "
                + table.apply(name).dataType().catalogString() + " cannot be names of folders");
      }
      names.add(name);
    }
    return names;
  }

  /** Checks that a table in a catalog, into which rows can be written, has other columns. */
  static List<String> ofTable(StructType table, Transform[] partitioning) {
    List<String> names = names(table, partitioning);
    if (!names.isEmpty() && names.size() == table.length()) {
      throw new InvalidInputException("PARTITIONED BY cannot name all columns of the table");
    }
    return names;
  }

  static Transform[] of(List<String> names) {
    // Spark parses the name, which may have a dot.
    return names.stream()
        .map(name -> Expressions.identity("`" + name.replace("`", "``") + "`"))
        .toArray(Transform[]::new);
  }

  /** The partition columns of a folder that exists; none for anything else. */
  static Transform[] of(ReadOptions options) {
    return Files.isPartitioned(options) ? of(options, Files.ofTable(options)) : NONE;
  }

  /** The same for a table with these files. */
  static Transform[] of(ReadOptions options, List<InputFile> files) {
    return Files.isPartitioned(options) ? of(new PartitionFolders(files).names()) : NONE;
  }
}
