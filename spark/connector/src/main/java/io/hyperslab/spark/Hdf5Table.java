package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.hadoop.HadoopFiles;
import io.hyperslab.spark.writing.Inserting;
import io.hyperslab.spark.writing.WriteOptions;
import java.nio.file.Paths;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table over one or more files. SQL writes into one whose path is a file, or a folder that holds its file. */
class Hdf5Table implements SupportsRead, SupportsMetadataColumns, SupportsWrite {
  private final StructType schema;
  private final Map<String, String> properties;
  /** The properties that concern reading. */
  private final Map<String, String> readOptions;
  /** Whether the table is a dataset of one dimension, which has a column that is not written: its index. */
  private final boolean isOneArray;

  private final Transform[] partitioning;
  /** The partition columns, whose values are the names of folders. */
  private final List<String> partitionColumns;
  /** The files, which are listed once: a DataFrame keeps its table. */
  private final TableFiles files;

  /**
   * @param properties options of the table; the options of a scan override them
   * @throws UnsupportedException if the table is partitioned by anything but columns
   */
  Hdf5Table(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    this(schema, partitioning, properties, false);
  }

  Hdf5Table(
      StructType schema,
      Transform[] partitioning,
      Map<String, String> properties,
      boolean isOneArray) {
    this.isOneArray = isOneArray;
    this.schema = schema;
    this.properties = properties;
    this.readOptions = forReading(properties);
    this.partitionColumns = isInCatalog(properties)
        ? TablePartitions.ofTable(schema, partitioning)
        : TablePartitions.names(schema, partitioning);
    this.partitioning = TablePartitions.of(partitionColumns);
    this.files = new TableFiles(isInCatalog(properties));
  }

  /** The files of the table. */
  TableFiles files() {
    return files;
  }

  /** The properties that concern reading. */
  Map<String, String> readOptions() {
    return readOptions;
  }

  /**
   * The columns of a schema from the user or a catalog. As in Spark's own sources, each may be null: Spark counts rows instead of
   * the values of a column that it believes to have no nulls.
   */
  static StructType declared(StructType schema) {
    return schema.asNullable();
  }

  /** Whether properties belong to a table in Spark's catalog, in which {@code TBLPROPERTIES} are next to options. */
  static boolean isInCatalog(Map<String, String> properties) {
    return properties.containsKey(TableCatalog.PROP_PROVIDER);
  }

  /** The properties without the options that concern only writing, and without {@code TBLPROPERTIES} that are no options. */
  static Map<String, String> forReading(Map<String, String> properties) {
    boolean isInCatalog = isInCatalog(properties);
    Map<String, String> kept = new HashMap<>(properties);
    kept.keySet().removeIf(name -> {
      String lower = name.toLowerCase(Locale.ROOT);
      boolean isPrefixed = lower.startsWith(TableCatalog.OPTION_PREFIX);
      // Spark stores an option twice: with the prefix, so that it differs from a property, and
      // without it.
      boolean isProperty = isInCatalog
          && !isPrefixed
          && !ReadOptions.isName(lower)
          && !properties.containsKey(TableCatalog.OPTION_PREFIX + name);
      return isProperty
          || WriteOptions.isOnlyForWriting(
              isPrefixed ? lower.substring(TableCatalog.OPTION_PREFIX.length()) : lower);
    });
    return kept;
  }

  @Override
  public String name() {
    ReadOptions options = new ReadOptions(readOptions);
    String dataset = options.text("dataset");
    return "hdf5 "
        + (options.paths().isEmpty()
            ? "catalog " + options.text("catalog")
            : options.paths().stream().map(given -> given.path).collect(Collectors.joining(", ")))
        + (dataset == null ? "" : " " + dataset);
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Transform[] partitioning() {
    return partitioning;
  }

  @Override
  public Map<String, String> properties() {
    return properties;
  }

  @Override
  public Set<TableCapability> capabilities() {
    EnumSet<TableCapability> all = EnumSet.of(
        TableCapability.BATCH_READ,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.V1_BATCH_WRITE,
        TableCapability.TRUNCATE);
    if (isOneArray) {
      all.add(TableCapability.ACCEPT_ANY_SCHEMA);
    }
    if (!partitionColumns.isEmpty()) {
      all.add(TableCapability.OVERWRITE_BY_FILTER);
    }
    return all;
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    ReadOptions options = new ReadOptions(readOptions);
    List<GivenPath> paths = options.paths();
    if (paths.size() != 1 || paths.get(0).path.matches(".*[*?\\[{].*")) {
      throw new UnsupportedException(
          "INSERT into a table of several files is not supported: insert into a table of one file");
    }
    if (isOneArray && info.schema().length() != 1) {
      throw new InvalidInputException("INSERT into the dataset " + readOptions.get("dataset")
          + " takes one column, its values, not " + info.schema().length());
    }
    boolean isRemote = HadoopFiles.isRemote(paths.get(0).path);
    String path = isRemote ? paths.get(0).path : LocalPath.of(paths.get(0).path);
    if (isRemote && !partitionColumns.isEmpty()) {
      throw new UnsupportedException(
          "INSERT into folders of partitions on a Hadoop file system is not supported: use a table without PARTITIONED BY, or a local folder",
          path,
          null,
          null);
    }
    if (partitionColumns.isEmpty()
        && (isRemote ? Files.isPartitioned(options) : Files.hasPartitions(Paths.get(path)))) {
      throw new InvalidInputException("INSERT into " + path
          + ", which has folders of partitions, needs a table that is created with PARTITIONED BY");
    }
    Map<String, String> all = new HashMap<>(properties);
    all.putAll(info.options().asCaseSensitiveMap());
    return partitionColumns.isEmpty()
        ? new Inserting(path, all)
        : new InsertingPartitions(path, all, partitionColumns, schema, options);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return new MetadataColumn[] {
      column("_row", DataTypes.LongType, "position of the row in the file's array, from 0"),
      column("_file", DataTypes.StringType, "path of the file"),
      column(
          FileMetadata.NAME,
          FileMetadata.TYPE,
          "path, name, size and time of the file, and the dataset in it"),
    };
  }

  private static MetadataColumn column(String name, DataType type, String comment) {
    return new MetadataColumn() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public DataType dataType() {
        return type;
      }

      @Override
      public boolean isNullable() {
        return false;
      }

      @Override
      public String comment() {
        return comment;
      }
    };
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    ReadOptions all = new ReadOptions(readOptions, options.asCaseSensitiveMap());
    return new Hdf5ScanBuilder(schema, all, files.of(all));
  }
}
