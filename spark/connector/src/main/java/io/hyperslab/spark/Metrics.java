package io.hyperslab.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What a scan costs, as Spark's UI and {@code EXPLAIN}'s siblings show it. */
public final class Metrics {
  private Metrics() {}

  static CustomMetric[] all() {
    return new CustomMetric[] {new BytesRead(), new ChunksDecoded(), new DecodeTime(), new Batches()};
  }

  static CustomTaskMetric[] values(long bytesRead, long chunksDecoded, long decodeNanoseconds, long batches) {
    return new CustomTaskMetric[] {
      value("bytesRead", bytesRead),
      value("chunksDecoded", chunksDecoded),
      value("decodeTime", decodeNanoseconds / 1_000_000),
      value("batches", batches),
    };
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
