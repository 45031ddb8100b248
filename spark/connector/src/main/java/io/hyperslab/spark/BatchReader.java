package io.hyperslab.spark;

import io.hyperslab.CorruptException;
import io.hyperslab.HyperslabException;
import io.hyperslab.NotFoundException;
import io.hyperslab.SplitReader;
import io.hyperslab.spark.vectors.Vectors;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the splits of one partition, one after the other, in their order. */
final class BatchReader implements PartitionReader<ColumnarBatch> {
  private static final Logger LOG = LoggerFactory.getLogger(BatchReader.class);

  private final byte[][] splits;
  private final StructType wanted;
  private final String session;
  private final String aggregates;
  private final boolean ignoreCorrupt;
  private final boolean ignoreMissing;
  private final TaskContext task = TaskContext.get();

  private int number = -1;
  private SplitReader reader;
  private Vectors vectors;
  private ColumnarBatch batch;
  /** Of the readers that are closed. */
  private final long[] counters = new long[4];
  private long batches;

  BatchReader(byte[][] splits, StructType wanted, String session, String aggregates, boolean ignoreCorrupt, boolean ignoreMissing) {
    this.splits = splits;
    this.wanted = wanted;
    this.session = session;
    this.aggregates = aggregates;
    this.ignoreCorrupt = ignoreCorrupt;
    this.ignoreMissing = ignoreMissing;
  }

  @Override
  public boolean next() {
    while (true) {
      try {
        if (reader == null) {
          if (++number >= splits.length) {
            return false;
          }
          open(splits[number]);
        }
        if (reader.next()) {
          batch = vectors.batch(reader.batch());
          batches++;
          return true;
        }
        closeReader();
      } catch (CorruptException error) {
        skip(error, ignoreCorrupt);
      } catch (NotFoundException error) {
        skip(error, ignoreMissing && error.object() == null);
      }
    }
  }

  private void open(byte[] split) {
    SplitReader opened = new SplitReader(split, session, aggregates);
    Watch.add(opened, task);
    reader = opened;
    vectors = new Vectors(opened.schema(), wanted);
  }

  private void skip(HyperslabException error, boolean allowed) {
    if (!allowed) {
      throw error;
    }
    LOG.warn("left out, as ignoreCorruptFiles or ignoreMissingFiles asks: {}", error.getMessage());
    closeReader();
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
  }
}
