package io.hyperslab.spark;

import io.hyperslab.spark.hadoop.HadoopFiles;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Creates the readers of tasks. Spark sends it to the executors. */
final class BatchReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;

  private final StructType readSchema;
  private final String[] constants;
  private final String session;
  private final SplitQuery query;

  /** Finds damaged files, which are skipped; null if damage is an error. */
  private final FileCheck fileCheck;

  private final boolean ignoreMissing;
  /** Where damaged files are named, or null. */
  private final BadRecords badRecords;
  /** The file systems that the native library opens addresses by; null if all files are local. */
  private final HadoopFiles hadoop;

  BatchReaderFactory(
      StructType readSchema,
      String[] constants,
      String session,
      SplitQuery query,
      FileCheck fileCheck,
      boolean ignoreMissing,
      BadRecords badRecords,
      HadoopFiles hadoop) {
    this.hadoop = hadoop;
    this.badRecords = badRecords;
    this.readSchema = readSchema;
    this.constants = constants;
    this.session = session;
    this.query = query;
    this.fileCheck = fileCheck;
    this.ignoreMissing = ignoreMissing;
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    if (hadoop != null) {
      // The requests of the driver name the key.
      hadoop.key();
    }
    return new BatchReader(
        (SplitPartition) partition,
        readSchema,
        constants,
        session,
        query,
        fileCheck,
        ignoreMissing,
        badRecords);
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("this source reads columnar batches, not rows");
  }
}
