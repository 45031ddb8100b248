package io.hyperslab.spark.writing;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What killed writes left. No lock shows that a write is running, so it counts as killed if nothing changed for a day. */
final class Leftovers {
  private static final long DAY_MILLISECONDS = 24 * 3600 * 1000L;

  private Leftovers() {}

  /** Removes the members of a folder that a filter accepts, if nothing in them was changed for a day. */
  static void remove(Path folder, DirectoryStream.Filter<Path> filter) throws IOException {
    if (!Files.isDirectory(folder)) {
      return;
    }
    List<Path> leftovers = new ArrayList<>();
    try (DirectoryStream<Path> members = Files.newDirectoryStream(folder, filter)) {
      members.forEach(leftovers::add);
    }
    long oldest = System.currentTimeMillis() - DAY_MILLISECONDS;
    for (Path leftover : leftovers) {
      boolean isOld;
      try (Stream<Path> all = Files.walk(leftover)) {
        isOld = all.allMatch(path -> path.toFile().lastModified() < oldest);
      }
      if (isOld) {
        FolderCommit.remove(folder, leftover);
      }
    }
  }
}
