package io.hyperslab.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Makes the readers of tasks; travels to the executors. */
final class BatchReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;

  private final StructType wanted;
  private final String[] constants;
  private final String session;
  private final String aggregates;
  private final boolean ignoreCorrupt;
  private final boolean ignoreMissing;

  BatchReaderFactory(
      StructType wanted,
      String[] constants,
      String session,
      String aggregates,
      boolean ignoreCorrupt,
      boolean ignoreMissing) {
    this.wanted = wanted;
    this.constants = constants;
    this.session = session;
    this.aggregates = aggregates;
    this.ignoreCorrupt = ignoreCorrupt;
    this.ignoreMissing = ignoreMissing;
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    return new BatchReader(
        (SplitPartition) partition,
        wanted,
        constants,
        session,
        aggregates,
        ignoreCorrupt,
        ignoreMissing);
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("batches are columnar");
  }
}
