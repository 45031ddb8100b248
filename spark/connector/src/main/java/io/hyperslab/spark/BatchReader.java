package io.hyperslab.spark;

import io.hyperslab.ConflictException;
import io.hyperslab.CorruptException;
import io.hyperslab.NotFoundException;
import io.hyperslab.SplitReader;
import io.hyperslab.spark.vectors.Vectors;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the splits of one partition in order. */
final class BatchReader implements PartitionReader<ColumnarBatch> {
  private static final Logger LOG = LoggerFactory.getLogger(BatchReader.class);

  private final SplitPartition partition;
  private final StructType readSchema;
  /** Names of the columns with a constant value per split. */
  private final String[] constants;

  private final String session;
  private final SplitQuery query;
  /** Finds damaged files, which are skipped; null if damage is an error. */
  private final FileCheck fileCheck;

  private final boolean ignoreMissing;
  /** Where damaged files are named, or null. */
  private final BadRecords badRecords;

  private final TaskContext task = TaskContext.get();

  /** How often a task plans again because the file grew after it had planned. */
  private static final int MAX_PLANS = 100;

  private static final long PAUSE_MILLISECONDS = 20;

  private byte[][] splits;
  private int plans = 1;
  private int splitIndex = -1;
  private SplitReader reader;
  private Vectors vectors;
  private ColumnarBatch batch;
  /** Sums over the closed readers. */
  private final long[] counters = new long[8];

  private long batches;

  BatchReader(
      SplitPartition partition,
      StructType readSchema,
      String[] constants,
      String session,
      SplitQuery query,
      FileCheck fileCheck,
      boolean ignoreMissing,
      BadRecords badRecords) {
    this.badRecords = badRecords;
    this.partition = partition;
    this.readSchema = readSchema;
    this.constants = constants;
    this.session = session;
    this.query = query;
    this.fileCheck = fileCheck;
    this.ignoreMissing = ignoreMissing;
  }

  @Override
  public boolean next() {
    while (true) {
      try {
        if (reader == null) {
          if (splits == null) {
            splits = partition.plan();
          }
          if (++splitIndex >= splits.length) {
            return returnsAggregatesOfNoRows();
          }
          if (isDamaged()) {
            continue;
          }
          open(splits[splitIndex]);
        }
        if (reader.next()) {
          batch = vectors.batch(reader.batch());
          batches++;
          return true;
        }
        closeReader();
      } catch (ConflictException error) {
        // A file of a stream grows while the stream reads it. Rows that were planned stay as they
        // are.
        if (!partition.isPlannedByTask() || batches > 0 || plans++ >= MAX_PLANS) {
          throw error;
        }
        closeReader();
        splits = null;
        splitIndex = -1;
        pause(error);
      } catch (NotFoundException error) {
        if (!ignoreMissing || error.object() != null) {
          throw error;
        }
        LOG.warn("skipped a file because of ignoreMissingFiles: {}", error.getMessage());
        closeReader();
      }
    }
  }

  /** Whether the file of the split is damaged. What {@link FileCheck} does not find is an error when it is read. */
  private boolean isDamaged() {
    String part = fileCheck == null ? null : partition.check(splitIndex);
    if (part == null) {
      return false;
    }
    try {
      fileCheck.check(part, task);
      return false;
    } catch (CorruptException error) {
      LOG.warn("skipped a file because of ignoreCorruptFiles: {}", error.getMessage());
      if (badRecords != null) {
        badRecords.add(error);
      }
      return true;
    }
  }

  /** Spark adds up the partial results of all partitions; without any, a count would be null. */
  private boolean returnsAggregatesOfNoRows() {
    if (!query.isOneRow() || batches > 0) {
      batch = null;
      return false;
    }
    batch = Vectors.row(readSchema, Aggregates.ofNoRows(readSchema));
    batches++;
    return true;
  }

  /** Waits for an edit of the file to end. */
  private static void pause(ConflictException error) {
    try {
      Thread.sleep(PAUSE_MILLISECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw error;
    }
  }

  private void open(byte[] split) {
    SplitReader opened = new SplitReader(split, session, query.aggregates, query.keys, query.top);
    Watch.add(opened, task);
    try {
      opened.open();
    } catch (RuntimeException error) {
      Watch.remove(opened);
      throw error;
    }
    reader = opened;
    Map<String, Object> values = new HashMap<>();
    for (int i = 0; i < constants.length; i++) {
      Object value = partition.constants(splitIndex)[i];
      if (value instanceof Object[]) {
        StructType members = (StructType) readSchema.apply(constants[i]).dataType();
        value = FileMetadata.withDataset((Object[]) value, members, partition.dataset(splitIndex));
      }
      values.put(constants[i], value);
    }
    vectors = new Vectors(opened.schema(), readSchema, values);
    if (partition.file(splitIndex) != null) {
      // For Spark's input_file_name().
      InputFileBlockHolder.set(InputFile.uri(partition.file(splitIndex)), 0, -1);
    }
  }

  /** Index of the split that the current batch is from. */
  int split() {
    return splitIndex;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  private void closeReader() {
    batch = null;
    if (reader != null) {
      SplitReader closing = reader;
      reader = null;
      Watch.remove(closing);
      try {
        add(closing.counters());
      } finally {
        closing.close();
      }
    }
  }

  private void add(long[] more) {
    for (int i = 0; i < counters.length; i++) {
      counters[i] += more[i];
    }
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    long[] now = counters.clone();
    if (reader != null) {
      long[] running = reader.counters();
      for (int i = 0; i < now.length; i++) {
        now[i] += running[i];
      }
    }
    return Metrics.values(now, batches);
  }

  @Override
  public void close() {
    closeReader();
    InputFileBlockHolder.unset();
  }
}
