package io.hyperslab.spark.writing;

import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;

/**
 * Writes of SQL into a table: {@code INSERT INTO} appends to its file, {@code INSERT OVERWRITE} replaces it, and {@code CREATE
 * TABLE … AS SELECT} creates it, by the rules of {@link SaveModes}.
 */
public final class Inserting implements SupportsTruncate {
  /** Name of the file of a table whose location is a folder, such as one that Spark manages. */
  private static final String FILE = "data.h5";

  private final Map<String, String> options = new HashMap<>();
  private final List<String> partitionColumns;
  /** Whether the table is in Spark's catalog, which knows the names of its columns. */
  private final boolean isInCatalog;

  private boolean truncates;

  /**
   * Writes into one file.
   *
   * @param path the file, or a folder that holds it
   * @param properties options of the table; those that concern writing are used
   */
  public Inserting(String path, Map<String, String> properties) {
    this(path, properties, Collections.emptyList());
  }

  /**
   * Writes into a folder of partitions.
   *
   * @param path the folder
   * @param properties options of the table; those that concern writing are used
   * @param partitionColumns names of the columns whose values are the names of folders
   */
  public Inserting(String path, Map<String, String> properties, List<String> partitionColumns) {
    this.partitionColumns = partitionColumns;
    isInCatalog = properties.containsKey(TableCatalog.PROP_PROVIDER);
    properties.forEach((name, value) -> {
      boolean isPrefixed = name.toLowerCase(Locale.ROOT).startsWith("option.");
      String given = isPrefixed ? name.substring("option.".length()) : name;
      String option = given.toLowerCase(Locale.ROOT);
      if (WriteOptions.isName(option)) {
        options.put(option, value);
      } else if (HadoopFiles.isSetting(given)) {
        options.put(given, value);
      }
    });
    options.put("path", path);
    if (partitionColumns.isEmpty() && isFolder(path)) {
      options.put("path", path.replaceAll("/+$", "") + "/" + FILE);
    }
    if (!partitionColumns.isEmpty()) {
      WriteOptions.putList(WriteOptions.PARTITIONS, partitionColumns, options);
    }
  }

  /** A single column becomes the dataset, which would have another name than the column: then it is put into a group. */
  private void nameOnlyColumn(String[] columns) {
    List<String> stored = Arrays.stream(columns)
        .filter(column -> partitionColumns.stream().noneMatch(column::equalsIgnoreCase))
        .collect(Collectors.toList());
    String dataset = options.getOrDefault("dataset", "/").replaceAll("/+$", "");
    if (isInCatalog
        && stored.size() == 1
        && !options.containsKey("layout")
        && !stored.get(0).equals(dataset.substring(dataset.lastIndexOf('/') + 1))) {
      options.put("layout", "columns");
    }
  }

  private boolean isFolder(String path) {
    if (!HadoopFiles.isRemote(path)) {
      return java.nio.file.Files.isDirectory(java.nio.file.Paths.get(path));
    }
    HadoopFiles files = new WriteOptions(options).hadoop();
    HadoopEntry found = files.find(files.address(path));
    return found != null && found.isFolder;
  }

  /** Replaces some folders of partitions, and adds to the others. */
  public WriteBuilder replacing(Collection<String> folders) {
    truncates = true;
    WriteOptions.putList(WriteOptions.REPLACED_FOLDERS, folders, options);
    return this;
  }

  @Override
  public WriteBuilder truncate() {
    truncates = true;
    return this;
  }

  @Override
  public V1Write build() {
    SaveMode mode = truncates ? SaveMode.Overwrite : SaveMode.Append;
    return new V1Write() {
      @Override
      public InsertableRelation toInsertableRelation() {
        return (Dataset<Row> data, boolean overwrite) -> {
          nameOnlyColumn(data.columns());
          SaveModes.save(overwrite ? SaveMode.Overwrite : mode, options, data);
        };
      }

      @Override
      public String description() {
        return "hdf5 " + options.get("path");
      }
    };
  }
}
