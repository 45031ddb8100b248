package io.hyperslab.spark;

import io.hyperslab.UnsupportedException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;

/**
 * An extension of Spark's session catalog that can read tables created with {@code CREATE TABLE … USING hdf5}, which Spark 3.5
 * stores with their options, but does not read, and that refuses to alter their columns.
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
    if (provider == null || !ShortNames.isProvider(provider)) {
      return table;
    }
    if (table instanceof Hdf5Table) {
      return table;
    }
    Map<String, String> properties = new HashMap<>(table.properties());
    ReadOptions options = new ReadOptions(Hdf5Table.forReading(properties));
    Transform[] partitioning =
        table.partitioning().length > 0 ? table.partitioning() : TablePartitions.of(options);
    // A table created without columns has the current columns of its files.
    StructType schema = table.schema().isEmpty()
        ? Description.columnsOf(options)
        : Hdf5Table.declared(table.schema());
    Hdf5Table found = new Hdf5Table(schema, partitioning, properties);
    found.files().listExisting(options);
    return found;
  }

  /**
   * Refuses changes of the columns, which the files of the table would not follow. Properties, comments and defaults are Spark's
   * own.
   */
  @Override
  public Table alterTable(Identifier identifier, TableChange... changes)
      throws NoSuchTableException {
    String provider = super.loadTable(identifier).properties().get(TableCatalog.PROP_PROVIDER);
    boolean isOurs = provider != null && ShortNames.isProvider(provider);
    for (TableChange change : changes) {
      if (isOurs && changesColumns(change)) {
        throw new UnsupportedException(
            "ALTER TABLE " + identifier
                + " that adds, drops, renames, moves or retypes columns is not supported, because it does not change the files: create another table with the columns");
      }
    }
    return super.alterTable(identifier, changes);
  }

  private static boolean changesColumns(TableChange change) {
    return change instanceof TableChange.ColumnChange
        && !(change instanceof TableChange.UpdateColumnComment)
        && !(change instanceof TableChange.UpdateColumnDefaultValue)
        && !(change instanceof TableChange.UpdateColumnNullability);
  }

  @Override
  public Table createTable(
      Identifier identifier,
      StructType schema,
      Transform[] partitioning,
      Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    check(schema, partitioning, properties);
    return super.createTable(identifier, schema, partitioning, properties);
  }

  @Override
  public Table createTable(
      Identifier identifier,
      Column[] columns,
      Transform[] partitioning,
      Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    StructType schema = new StructType();
    for (Column column : columns) {
      schema = schema.add(column.name(), column.dataType(), column.nullable());
    }
    check(schema, partitioning, properties);
    return super.createTable(identifier, columns, partitioning, properties);
  }

  /** Refuses what this source cannot store, before the table exists. */
  private static void check(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    String provider = properties.get(TableCatalog.PROP_PROVIDER);
    if (provider != null && ShortNames.isProvider(provider)) {
      new ReadOptions(Hdf5Table.forReading(properties));
      TablePartitions.ofTable(schema, partitioning);
    }
  }
}
