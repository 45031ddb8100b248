package io.hyperslab.spark;

import io.hyperslab.HyperslabException;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * The files of one table, as of the moment when it was loaded. As in Spark's own sources, files that appear later are not
 * read, and one that has vanished is an error.
 */
final class TableFiles {
  /** The tables of Spark's catalog, which list their files again after a write of this process, as Spark's own tables do. */
  private static final Set<TableFiles> IN_CATALOG =
      Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

  /** The files, by the options that they were listed with; null if they are to be listed again. */
  private final Map<ReadOptions, List<InputFile>> lists = new HashMap<>();

  TableFiles(boolean isInCatalog) {
    if (isInCatalog) {
      IN_CATALOG.add(this);
    }
  }

  /** The files of a table that exists; null if it has none yet, or they cannot be listed, which a later read reports. */
  static List<InputFile> ofExisting(ReadOptions options) {
    try {
      return Files.ofTable(options);
    } catch (HyperslabException error) {
      return null;
    }
  }

  /** Forgets the files of tables in Spark's catalog that may read what was written to a path. */
  static void written(String path) {
    synchronized (IN_CATALOG) {
      IN_CATALOG.forEach(files -> {
        if (files.mayRead(path)) {
          files.forget();
        }
      });
    }
  }

  synchronized List<InputFile> of(ReadOptions options) {
    return lists.computeIfAbsent(options, Files::ofTable);
  }

  synchronized void put(ReadOptions options, List<InputFile> files) {
    lists.put(options, files);
  }

  /** Lists the files now if there are any. */
  void listExisting(ReadOptions options) {
    List<InputFile> files = ofExisting(options);
    if (files != null) {
      put(options, files);
    }
  }

  /** Lists the files again when they are needed. */
  synchronized void forget() {
    lists.replaceAll((options, files) -> null);
  }

  /** Whether a file or folder of this path is, or is in, what the table reads. */
  synchronized boolean mayRead(String written) {
    for (Map.Entry<ReadOptions, List<InputFile>> list : lists.entrySet()) {
      for (String given : bases(list.getKey())) {
        if (isWithin(written, given) || isWithin(given, written)) {
          return true;
        }
      }
      List<InputFile> files = list.getValue();
      if (files != null && files.stream().anyMatch(file -> isWithin(file.path, written))) {
        return true;
      }
    }
    return false;
  }

  /** The given paths, each up to its first wildcard. */
  private static List<String> bases(ReadOptions options) {
    List<String> bases = new ArrayList<>();
    for (GivenPath given : options.paths()) {
      String path = HadoopFiles.isRemote(given.path)
          ? options.hadoop().address(given.path)
          : Files.local(given.path).toString();
      java.util.regex.Matcher wildcard = Files.WILDCARD.matcher(path);
      bases.add(
          wildcard.find() ? path.substring(0, path.lastIndexOf('/', wildcard.start())) : path);
    }
    return bases;
  }

  private static boolean isWithin(String path, String folder) {
    return path.equals(folder) || path.startsWith(folder.replaceAll("/+$", "") + "/");
  }
}
