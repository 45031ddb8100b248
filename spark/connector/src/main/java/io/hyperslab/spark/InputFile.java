package io.hyperslab.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.Map;

/** A file of a table, with its dataset and the values from the names of its folders. */
final class InputFile {
  /** Absolute. */
  final String path;
  /** Another dataset than that of the table, or null. */
  final String dataset;
  /** The glob that found it, whose wildcards become columns, or null. */
  final String pattern;
  /** What the names of its folders say, {@code year=2024} being year and 2024, in their order. */
  final Map<String, String> folders;

  InputFile(String path, String dataset, String pattern) {
    this(path, dataset, pattern, Collections.emptyMap());
  }

  InputFile(String path, String dataset, String pattern, Map<String, String> folders) {
    this.path = path;
    this.dataset = dataset;
    this.pattern = pattern;
    this.folders = folders;
  }

  /** As the native library reads it. */
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
