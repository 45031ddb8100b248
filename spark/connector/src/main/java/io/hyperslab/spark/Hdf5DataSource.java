package io.hyperslab.spark;

import io.hyperslab.spark.writing.SaveModes;
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
 * The data source {@code hdf5}: reads HDF5 and netCDF files as tables, and writes tables as HDF5. The format of a file is
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

  /** Whether the provider of a table ({@code USING provider}) is this source or {@link NetcdfDataSource}. */
  static boolean isProvider(String provider) {
    return provider.equalsIgnoreCase("hdf5")
        || provider.equalsIgnoreCase("netcdf")
        || provider.equals(Hdf5DataSource.class.getName())
        || provider.equals(NetcdfDataSource.class.getName());
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    Map<String, String> all = options.asCaseSensitiveMap();
    return Description.columnsOf(
        new ReadOptions(Hdf5Table.isInCatalog(all) ? Hdf5Table.forReading(all) : all));
  }

  /** The columns that folders called {@code name=value} become; a table of these files is partitioned by them. */
  @Override
  public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
    Map<String, String> all = Hdf5Table.forReading(options.asCaseSensitiveMap());
    // A table that Spark manages has no path before it is created.
    return options.containsKey("path") || options.containsKey("paths")
        ? TablePartitions.of(new ReadOptions(all))
        : TablePartitions.NONE;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Hdf5Table(schema, partitioning, properties);
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
