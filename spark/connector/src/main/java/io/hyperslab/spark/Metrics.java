package io.hyperslab.spark;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The metrics of a scan, as shown in Spark's UI. */
public final class Metrics {
  private Metrics() {}

  static CustomMetric[] all() {
    return new CustomMetric[] {
      new BytesRead(),
      new ChunksDecoded(),
      new ChunksSkipped(),
      new DecodeTime(),
      new Batches(),
      new RemoteRequests(),
      new RemoteBytes(),
      new PartsInflated(),
      new InflatingSkipped(),
      new FilesSkipped()
    };
  }

  /** @param counters the result of {@link io.hyperslab.SplitReader#counters} */
  static CustomTaskMetric[] values(long[] counters, long batches) {
    return new CustomTaskMetric[] {
      value("bytesRead", counters[0]),
      value("chunksDecoded", counters[1]),
      value("decodeTime", counters[2] / 1_000_000),
      value("chunksSkipped", counters[3]),
      value("batches", batches),
      value("remoteRequests", counters[4]),
      value("remoteBytes", counters[5]),
      value("partsInflated", counters[6]),
      value("inflatingSkippedBytes", counters[7]),
    };
  }

  /** The metrics of planning: chunks that no task reads, and files that were not opened. */
  static CustomTaskMetric[] ofPlanning(long chunksSkipped, long filesSkipped) {
    return new CustomTaskMetric[] {
      value("chunksSkipped", chunksSkipped), value("filesSkipped", filesSkipped)
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

  /** Bytes read from files. Public because Spark instantiates the class by its name. */
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

  /** Number of chunks decoded by filters. */
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

  /** Number of chunks that predicates exclude: outside of a hyperslab, or of other columns where no row matches. */
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

  /** Time in filters, in milliseconds. */
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

  /** Number of requests for files of Hadoop file systems: for the version, to open, and one for each range. */
  public static final class RemoteRequests extends CustomSumMetric {
    @Override
    public String name() {
      return "remoteRequests";
    }

    @Override
    public String description() {
      return "requests of remote files";
    }
  }

  /** Bytes that came of files of Hadoop file systems. */
  public static final class RemoteBytes extends CustomSumMetric {
    @Override
    public String name() {
      return "remoteBytes";
    }

    @Override
    public String description() {
      return "bytes of remote files";
    }
  }

  /** Number of times that a part of a chunk was inflated from a restart point, instead of the chunk. */
  public static final class PartsInflated extends CustomSumMetric {
    @Override
    public String name() {
      return "partsInflated";
    }

    @Override
    public String description() {
      return "parts of chunks inflated from restart points";
    }
  }

  /** Bytes of chunks that were not inflated, because restart points led to the part that was read. */
  public static final class InflatingSkipped extends CustomSumMetric {
    @Override
    public String name() {
      return "inflatingSkippedBytes";
    }

    @Override
    public String description() {
      return "bytes not inflated because of restart points";
    }
  }

  /** Number of files that predicates on partition columns, and a catalog, exclude without opening them. */
  public static final class FilesSkipped extends CustomSumMetric {
    @Override
    public String name() {
      return "filesSkipped";
    }

    @Override
    public String description() {
      return "files not opened";
    }
  }

  /** Number of record batches. */
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
