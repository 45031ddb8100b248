package io.hyperslab.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Objects;

/** A file of a table, and what is known of it beside its path. */
final class InputFile {
  /** Absolute. */
  final String path;
  /** Another dataset than that of the table, or null. */
  final String dataset;
  /** The glob that found it, whose wildcards become columns, or null. */
  final String pattern;

  InputFile(String path, String dataset, String pattern) {
    this.path = path;
    this.dataset = dataset;
    this.pattern = pattern;
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

  /** The same file and dataset; how it was found does not count. */
  @Override
  public boolean equals(Object other) {
    return other instanceof InputFile && path.equals(((InputFile) other).path) && Objects.equals(dataset, ((InputFile) other).dataset);
  }

  @Override
  public int hashCode() {
    return Objects.hash(path, dataset);
  }
}
