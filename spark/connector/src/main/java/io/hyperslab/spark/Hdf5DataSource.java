package io.hyperslab.spark;

import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.writing.SaveModes;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source {@code hdf5}, which has other {@link ShortNames}: reads HDF5 and netCDF files as tables, and writes tables as HDF5. The format of a file is
 * detected from its contents, not from its name.
 *
 * <pre>{@code
 * Dataset<Row> rows = spark.read().format("hdf5").option("dataset", "/temperature").load("/data/*.h5");
 * rows.write().format("hdf5").mode("overwrite").save("/data/out.h5");
 * }</pre>
 *
 * <p>Errors are subclasses of {@link io.hyperslab.HyperslabException}.
 */
public class Hdf5DataSource
    implements TableProvider, DataSourceRegister, CreatableRelationProvider {
  @Override
  public String shortName() {
    return "hdf5";
  }

  /** The options and files of the table that is being loaded. Spark asks the same instance for its columns and for the table. */
  private ReadOptions loaded;

  private List<InputFile> files;
  /** The columns that were inferred from these files. */
  private StructType inferred;

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    Map<String, String> all = options.asCaseSensitiveMap();
    loaded = new ReadOptions(Hdf5Table.isInCatalog(all) ? Hdf5Table.forReading(all) : all);
    files = Files.of(loaded);
    inferred = Description.columnsOf(loaded, files);
    return inferred;
  }

  /** The columns that folders called {@code name=value} become; a table of these files is partitioned by them. */
  @Override
  public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
    if (options.containsKey("checkpointlocation")) {
      throw new UnsupportedException(
          "a stream cannot be written as hdf5: use foreachBatch, and write each batch with mode(\"append\")");
    }
    // A table that Spark manages has no path before it is created.
    if (!options.containsKey("path") && !options.containsKey("paths")) {
      return TablePartitions.NONE;
    }
    ReadOptions read = new ReadOptions(Hdf5Table.forReading(options.asCaseSensitiveMap()));
    if (!read.equals(loaded)) {
      loaded = read;
      files = TableFiles.ofExisting(read);
    }
    return files == null ? TablePartitions.NONE : TablePartitions.of(read, files);
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    StructType columns = schema.equals(inferred) ? schema : Hdf5Table.declared(schema);
    Hdf5Table table = new Hdf5Table(columns, partitioning, properties);
    if (files != null) {
      table.files().put(loaded, files);
    } else if (Hdf5Table.isInCatalog(properties)) {
      table.files().listExisting(new ReadOptions(table.readOptions()));
    }
    return table;
  }

  /** Writes a DataFrame: {@code df.write.format("hdf5").save("out.h5")}. */
  @Override
  public BaseRelation createRelation(
      SQLContext context,
      SaveMode mode,
      scala.collection.immutable.Map<String, String> parameters,
      Dataset<Row> data) {
    return SaveModes.save(context, mode, parameters, data);
  }

  /** Accepts a schema from the user or a catalog. It is checked against the files before they are read. */
  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }
}
