package io.hyperslab.spark;

import io.hyperslab.IoException;
import io.hyperslab.UnsupportedException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.ModifiedAfterFilter;
import org.apache.spark.sql.execution.datasources.ModifiedBeforeFilter;
import org.apache.spark.sql.execution.datasources.ModifiedDateFilter;
import org.apache.spark.sql.execution.datasources.PathFilterStrategy;
import org.apache.spark.sql.internal.SQLConf;

/** The options {@code modifiedBefore} and {@code modifiedAfter}, by the filters of Spark's own sources. */
final class ModificationTimes {
  private static final String BEFORE = "modifiedBefore";
  private static final String AFTER = "modifiedAfter";

  private final List<PathFilterStrategy> filters = new ArrayList<>();

  ModificationTimes(ReadOptions options) {
    String before = options.text("modifiedbefore");
    String after = options.text("modifiedafter");
    String zone = options.text("timezone") == null
        ? SQLConf.get().sessionLocalTimeZone()
        : options.text("timezone");
    if (before != null) {
      filters.add(
          new ModifiedBeforeFilter(ModifiedDateFilter.toThreshold(before, zone, BEFORE), zone));
    }
    if (after != null) {
      filters.add(
          new ModifiedAfterFilter(ModifiedDateFilter.toThreshold(after, zone, AFTER), zone));
    }
  }

  boolean isEmpty() {
    return filters.isEmpty();
  }

  /** Whether a file has a time that the options ask for; true for one that has vanished, which its reader reports. */
  boolean accepts(InputFile file) {
    if (filters.isEmpty()) {
      return true;
    }
    long modified;
    try {
      modified = file.listed != null
          ? file.listed.modified
          : java.nio.file.Files.getLastModifiedTime(Paths.get(file.path)).toMillis();
    } catch (NoSuchFileException error) {
      return true;
    } catch (IOException error) {
      throw new IoException("cannot read the file's metadata: " + error, file.path, null, null);
    }
    FileStatus status =
        new FileStatus(0, false, 0, 0, modified, new Path(InputFile.uri(file.path)));
    return filters.stream().allMatch(filter -> filter.accept(status));
  }

  /** Refuses the options for a stream, as Spark's own sources do: a file that is left out now may be modified later. */
  static void checkStream(ReadOptions options) {
    for (String name : new String[] {BEFORE, AFTER}) {
      if (options.text(name.toLowerCase(java.util.Locale.ROOT)) != null) {
        throw new UnsupportedException("option " + name + " of a stream is not supported");
      }
    }
  }
}
