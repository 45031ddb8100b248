package io.hyperslab.spark;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table over one or more files. */
final class Hdf5Table implements SupportsRead, SupportsMetadataColumns {
  private final StructType schema;
  private final Map<String, String> properties;

  /** @param properties options of the table; the options of a scan override them */
  Hdf5Table(StructType schema, Map<String, String> properties) {
    this.schema = schema;
    this.properties = properties;
  }

  @Override
  public String name() {
    ReadOptions options = new ReadOptions(properties);
    String dataset = options.text("dataset");
    return "hdf5 "
        + options.paths().stream().map(given -> given.path).collect(Collectors.joining(", "))
        + (dataset == null ? "" : " " + dataset);
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Map<String, String> properties() {
    return properties;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Collections.singleton(TableCapability.BATCH_READ);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return new MetadataColumn[] {
      column("_row", DataTypes.LongType, "position of the row in the file's array, from 0"),
      column("_file", DataTypes.StringType, "path of the file"),
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
    return new Hdf5ScanBuilder(schema, new ReadOptions(properties, options.asCaseSensitiveMap()));
  }
}
