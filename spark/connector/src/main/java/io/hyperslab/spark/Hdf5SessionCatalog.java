package io.hyperslab.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/**
 * An extension of Spark's session catalog that can read tables created with {@code CREATE TABLE … USING hdf5}. Spark 3.5
 * stores such tables with their options, but reads only tables of its own sources. Spark 4 does not need this class.
 *
 * <pre>{@code
 * SparkSession.builder()
 *     .config("spark.sql.catalog.spark_catalog", "io.hyperslab.spark.Hdf5SessionCatalog")
 * }</pre>
 */
public final class Hdf5SessionCatalog extends DelegatingCatalogExtension {
  @Override
  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    Table table = super.loadTable(identifier);
    String provider = table.properties().get(TableCatalog.PROP_PROVIDER);
    if (provider == null || !Hdf5DataSource.isProvider(provider)) {
      return table;
    }
    Map<String, String> properties = new HashMap<>(table.properties());
    // A table created without columns has the columns that its files have now.
    return table.schema().isEmpty()
        ? new Hdf5Table(
            Description.columnsOf(new ReadOptions(Hdf5Table.forReading(properties))), properties)
        : new Hdf5Table(table.schema(), properties);
  }
}
