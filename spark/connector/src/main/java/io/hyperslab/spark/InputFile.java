package io.hyperslab.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.nio.file.Paths;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;

/** A file of a table, with its dataset and the values of its partition folders. */
final class InputFile {
  /** Absolute path, or the address of a file of a Hadoop file system. */
  final String path;
  /** Dataset of this file; null for the dataset of the table. */
  final String dataset;
  /** The glob that found it, whose wildcards become columns, or null. */
  final String pattern;
  /** Names and values of the partition folders, from the outermost inward: {@code year=2024} is year and 2024. */
  final Map<String, String> folders;
  /** The file as Hadoop listed it; null for a local file. */
  final HadoopEntry listed;

  InputFile(String path, String dataset, String pattern) {
    this(path, dataset, pattern, Collections.emptyMap());
  }

  InputFile(String path, String dataset, String pattern, Map<String, String> folders) {
    this(path, dataset, pattern, folders, null);
  }

  /** A file of a Hadoop file system. */
  InputFile(HadoopEntry listed, String dataset, String pattern, Map<String, String> folders) {
    this(listed.address, dataset, pattern, folders, listed);
  }

  private InputFile(
      String path,
      String dataset,
      String pattern,
      Map<String, String> folders,
      HadoopEntry listed) {
    this.listed = listed;
    this.path = path;
    this.dataset = dataset;
    this.pattern = pattern;
    this.folders = folders;
  }

  /** The same file with other values of its partition folders. */
  InputFile withFolders(Map<String, String> values) {
    return new InputFile(path, dataset, pattern, values, listed);
  }

  /** Whether some file is one of a Hadoop file system. */
  static boolean isAnyRemote(Collection<InputFile> files) {
    return files.stream().anyMatch(file -> file.listed != null);
  }

  /** The URI of a file, by its path or address. */
  static String uri(String path) {
    return HadoopFiles.isRemote(path)
        ? HadoopFiles.uri(path)
        : Paths.get(path).toUri().toString();
  }

  /** Appends the file to the list of files in a request to the native library. */
  void addTo(ArrayNode files) {
    if (dataset == null && pattern == null) {
      files.add(path);
      return;
    }
    ObjectNode entry = files.addObject().put("path", path);
    if (dataset != null) {
      entry.put("dataset", dataset);
    }
    if (pattern != null) {
      entry.put("pattern", pattern);
    }
  }
}
