package io.hyperslab.spark.writing;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** Creates the writers of tasks. Spark sends it to the executors. */
final class RowWriterFactory implements DataWriterFactory {
  private static final long serialVersionUID = 1L;

  private final byte[] plan;
  private final StructType schema;
  private final String request;
  private final boolean records;
  private final boolean nan;

  RowWriterFactory(byte[] plan, StructType schema, String request, boolean records, boolean nan) {
    this.plan = plan;
    this.schema = schema;
    this.request = request;
    this.records = records;
    this.nan = nan;
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    return new RowWriter(plan, partition, schema, request, records, nan);
  }
}
