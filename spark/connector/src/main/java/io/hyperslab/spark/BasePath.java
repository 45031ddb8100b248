package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.nio.file.Paths;
import java.util.List;

/** The option {@code basePath}: the folder below which folders called {@code name=value} become columns. */
final class BasePath {
  private final ReadOptions options;
  /** Absolute path or address. */
  private final String folder;

  private BasePath(String given, ReadOptions options) {
    this.options = options;
    folder = absolute(given);
    HadoopEntry entry = HadoopFiles.isRemote(given) ? options.hadoop().find(folder) : null;
    if (entry == null ? !java.nio.file.Files.isDirectory(Paths.get(folder)) : !entry.isFolder) {
      throw new InvalidInputException("option basePath must be a folder, not \"" + given + "\"");
    }
  }

  /** The option, or null if it is not set. */
  static BasePath of(ReadOptions options) {
    return options.text("basepath") == null
        ? null
        : new BasePath(options.text("basepath"), options);
  }

  private String absolute(String path) {
    return HadoopFiles.isRemote(path)
        ? options.hadoop().address(path).replaceAll("/+$", "")
        : Files.local(path).toString();
  }

  /** Checks that the given paths are below the folder. */
  void check(List<GivenPath> paths) {
    for (GivenPath given : paths) {
      if (!isWithin(absolute(given.path))) {
        throw new InvalidInputException(
            "option basePath \"" + folder + "\" does not contain the path \"" + given.path + "\"");
      }
    }
  }

  private boolean isWithin(String path) {
    return path.equals(folder) || path.startsWith(folder.replaceAll("/+$", "") + "/");
  }

  /** The file with the values of its folders below this one. A file elsewhere, which a list names, has none. */
  InputFile withFolders(InputFile file) {
    return isWithin(file.path)
        ? file.withFolders(PartitionFolders.between(Paths.get(folder), Paths.get(file.path)))
        : file;
  }
}
