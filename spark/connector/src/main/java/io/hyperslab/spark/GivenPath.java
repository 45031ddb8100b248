package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.hyperslab.InvalidInputException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A path as the user gave it (of a file, glob, folder or list of files), with its dataset if there is one. */
final class GivenPath {
  final String path;
  /** Dataset of this path; null for the dataset of the table. */
  final String dataset;

  GivenPath(String path, String dataset) {
    if (path.isEmpty()) {
      throw new InvalidInputException("the path is empty: use load(\"file.h5\")");
    }
    this.path = path;
    this.dataset = dataset;
  }

  /** Parses an entry of the option {@code paths}: a string, or {@code [file, dataset]}. */
  static GivenPath of(JsonNode entry) {
    return entry.isArray()
        ? new GivenPath(entry.path(0).asText(), entry.path(1).asText())
        : new GivenPath(entry.asText(), null);
  }

  /** The value of the option {@code paths} for a path, or for a list of paths and {@code {file, dataset}} pairs. */
  static String listOf(Object files) {
    ArrayNode paths = ReadOptions.JSON.createArrayNode();
    for (Object one : files instanceof String ? Collections.singletonList(files) : items(files)) {
      add(one, paths);
    }
    if (paths.isEmpty()) {
      throw new InvalidInputException("the list of files is empty");
    }
    return paths.toString();
  }

  private static void add(Object one, ArrayNode paths) {
    String[] pair = pair(one);
    if (pair != null) {
      paths.addArray().add(pair[0]).add(pair[1]);
    } else if (one instanceof String) {
      paths.add((String) one);
    } else {
      throw invalid(one);
    }
  }

  private static List<?> items(Object files) {
    if (files instanceof List) {
      return (List<?>) files;
    } else if (files instanceof Object[]) {
      return Arrays.asList((Object[]) files);
    }
    throw invalid(files);
  }

  /** The file and dataset of a pair, or null if the argument is not a pair. */
  private static String[] pair(Object one) {
    Object[] parts = {};
    if (one instanceof List) {
      parts = ((List<?>) one).toArray();
    } else if (one instanceof Object[]) {
      parts = (Object[]) one;
    }
    return parts.length == 2 && parts[0] instanceof String && parts[1] instanceof String
        ? new String[] {(String) parts[0], (String) parts[1]}
        : null;
  }

  private static InvalidInputException invalid(Object one) {
    return new InvalidInputException(
        "files must be a path, or a list of paths and {file, dataset} pairs, not " + one);
  }
}
