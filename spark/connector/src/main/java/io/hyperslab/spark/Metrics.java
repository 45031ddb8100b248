package io.hyperslab.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What a scan costs, as Spark's UI and {@code EXPLAIN}'s siblings show it. */
public final class Metrics {
  private Metrics() {}

  static CustomMetric[] all() {
    return new CustomMetric[] {
      new BytesRead(), new ChunksDecoded(), new ChunksSkipped(), new DecodeTime(), new Batches()
    };
  }

  /** @param counters as {@link io.hyperslab.SplitReader#counters} has them */
  static CustomTaskMetric[] values(long[] counters, long batches) {
    return new CustomTaskMetric[] {
      value("bytesRead", counters[0]),
      value("chunksDecoded", counters[1]),
      value("decodeTime", counters[2] / 1_000_000),
      value("chunksSkipped", counters[3]),
      value("batches", batches),
    };
  }

  /** What the driver knows: chunks that no task is given. */
  static CustomTaskMetric[] ofPlanning(long chunksSkipped) {
    return new CustomTaskMetric[] {value("chunksSkipped", chunksSkipped)};
  }

  private static CustomTaskMetric value(String name, long value) {
    return new CustomTaskMetric() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public long value() {
        return value;
      }
    };
  }

  /** Bytes of values, as stored. Spark makes it by its name, so it is public. */
  public static final class BytesRead extends CustomSumMetric {
    @Override
    public String name() {
      return "bytesRead";
    }

    @Override
    public String description() {
      return "bytes read";
    }
  }

  /** Chunks that went through filters. */
  public static final class ChunksDecoded extends CustomSumMetric {
    @Override
    public String name() {
      return "chunksDecoded";
    }

    @Override
    public String description() {
      return "chunks decoded";
    }
  }

  /** Chunks that predicates spare: outside of their hyperslabs, or of columns that a test leaves no row of. */
  public static final class ChunksSkipped extends CustomSumMetric {
    @Override
    public String name() {
      return "chunksSkipped";
    }

    @Override
    public String description() {
      return "chunks skipped";
    }
  }

  /** Time in filters. */
  public static final class DecodeTime extends CustomSumMetric {
    @Override
    public String name() {
      return "decodeTime";
    }

    @Override
    public String description() {
      return "time in filters (ms)";
    }
  }

  /** Record batches. */
  public static final class Batches extends CustomSumMetric {
    @Override
    public String name() {
      return "batches";
    }

    @Override
    public String description() {
      return "batches";
    }
  }
}
