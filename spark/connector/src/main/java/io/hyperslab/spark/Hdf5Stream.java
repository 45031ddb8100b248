package io.hyperslab.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.ConflictException;
import io.hyperslab.CorruptException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.NotFoundException;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxFiles;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stream of the rows of a table's files: rows of new files, and rows that were appended to files that were read before.
 *
 * <p>An offset has the number of rows of each file, so Spark's checkpoint determines which rows a batch has, and a batch
 * that is run again has the same rows.
 */
final class Hdf5Stream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private static final Logger LOG = LoggerFactory.getLogger(Hdf5Stream.class);

  private final Hdf5Scan scan;
  private final ReadOptions options;
  /** What is known of each file, so that only files that changed are opened. */
  private final Map<String, Known> known = new HashMap<>();

  private Rows latest;
  /** The rows where a run of {@code Trigger.AvailableNow} ends, or null. */
  private Rows last;

  Hdf5Stream(Hdf5Scan scan, ReadOptions options) {
    this.scan = scan;
    this.options = options;
  }

  /** The rows that files have, by path. */
  private static final class Rows extends Offset {
    final TreeMap<String, Long> files = new TreeMap<>();

    static Rows of(String json) {
      Rows rows = new Rows();
      JsonNode parsed;
      try {
        parsed = ReadOptions.JSON.readTree(json);
      } catch (JsonProcessingException error) {
        throw new InvalidInputException("a checkpoint with an offset of another source: " + json);
      }
      JsonNode files = parsed.get("files");
      if (files == null) {
        throw new InvalidInputException("a checkpoint with an offset of another source: " + json);
      }
      files
          .fields()
          .forEachRemaining(
              file -> rows.files.put(file.getKey(), file.getValue().asLong()));
      return rows;
    }

    @Override
    public String json() {
      ObjectNode json = ReadOptions.JSON.createObjectNode();
      ObjectNode files = json.putObject("files");
      this.files.forEach(files::put);
      return json.toString();
    }
  }

  /** Length, time and rows of a file when it was last opened. */
  private static final class Known {
    final long length;
    final long modified;
    final long rows;

    Known(long length, long modified, long rows) {
      this.length = length;
      this.modified = modified;
      this.rows = rows;
    }
  }

  @Override
  public Offset initialOffset() {
    return new Rows();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return Rows.of(json);
  }

  @Override
  public Offset latestOffset() {
    return latestOffset(initialOffset(), ReadLimit.allAvailable());
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    Long files = options.number("maxfilespertrigger");
    return files == null
        ? ReadLimit.allAvailable()
        : ReadLimit.maxFiles(Math.toIntExact(Math.min(files, Integer.MAX_VALUE)));
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    latestOffset(initialOffset(), ReadLimit.allAvailable());
    last = latest;
  }

  @Override
  public Offset reportLatestOffset() {
    return latest;
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    Rows before = Rows.of(start.json());
    Rows after = Rows.of(start.json());
    Rows all = Rows.of(start.json());
    int left =
        limit instanceof ReadMaxFiles ? ((ReadMaxFiles) limit).maxFiles() : Integer.MAX_VALUE;
    for (InputFile file : files()) {
      long read = before.files.getOrDefault(file.path, 0L);
      long rows = last == null ? rowsOf(file, read) : last.files.getOrDefault(file.path, read);
      if (rows < read) {
        throw new ConflictException(
            "the file has " + rows + " rows, and the stream has read " + read
                + ": files of a stream may only grow",
            file.path,
            null,
            null);
      }
      if (rows > read) {
        all.files.put(file.path, rows);
        if (left > 0) {
          after.files.put(file.path, rows);
          left--;
        }
      }
    }
    latest = all;
    return after;
  }

  /** The files that exist now; none if there is none yet. */
  private List<InputFile> files() {
    try {
      return Files.of(options);
    } catch (NotFoundException error) {
      return new ArrayList<>();
    }
  }

  /** The number of rows of a file; {@code read} if it cannot be read yet, because a program is still writing it. */
  private long rowsOf(InputFile file, long read) {
    try {
      long length;
      long modified;
      if (file.listed != null) {
        length = file.listed.length;
        modified = file.listed.modified;
      } else {
        Path path = Paths.get(file.path);
        length = java.nio.file.Files.size(path);
        modified = java.nio.file.Files.getLastModifiedTime(path).toMillis();
      }
      Known before = known.get(file.path);
      if (before != null && before.length == length && before.modified == modified) {
        return before.rows;
      }
      long rows = scan.rowsOf(file);
      if (rows < 0) {
        LOG.warn("a file cannot be read yet, and is tried again: {}", file.path);
        return read;
      }
      known.put(file.path, new Known(length, modified, rows));
      return rows;
    } catch (ConflictException | CorruptException | NotFoundException error) {
      LOG.warn("a file cannot be read yet, and is tried again: {}", error.getMessage());
    } catch (IOException error) {
      LOG.warn("a file vanished while the stream looked at it: {}", file.path);
    }
    return read;
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    Map<String, Long> before = Rows.of(start.json()).files;
    Map<String, InputFile> found = new HashMap<>();
    files().forEach(file -> found.put(file.path, file));
    List<InputPartition> partitions = new ArrayList<>();
    List<String> paths = Files.natural(new ArrayList<>(Rows.of(end.json()).files.keySet()));
    Map<String, Long> after = Rows.of(end.json()).files;
    for (String path : paths) {
      long first = before.getOrDefault(path, 0L);
      if (after.get(path) <= first) {
        continue;
      }
      InputFile file = found.get(path);
      if (file == null) {
        throw new NotFoundException(
            "the file was removed before the stream had read its rows", path, null, null);
      }
      partitions.addAll(scan.planRows(file, first, after.get(path)));
    }
    return partitions.toArray(new InputPartition[0]);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return scan.createReaderFactory();
  }

  @Override
  public void commit(Offset end) {
    // Spark's checkpoint has the offset. Files stay as they are.
  }

  @Override
  public void stop() {}
}
