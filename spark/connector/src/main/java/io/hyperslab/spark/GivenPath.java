package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.hyperslab.InvalidInputException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A path as a user wrote it (a file, glob, folder or list of files), with its dataset if that was named too. */
final class GivenPath {
  final String path;
  /** Null: the dataset of the whole table. */
  final String dataset;

  GivenPath(String path, String dataset) {
    if (path.isEmpty()) {
      throw new InvalidInputException("the path is empty: give load(\"file.h5\")");
    }
    this.path = path;
    this.dataset = dataset;
  }

  /** An entry of option {@code paths}: a text, or {@code [file, dataset]}. */
  static GivenPath of(JsonNode entry) {
    return entry.isArray()
        ? new GivenPath(entry.path(0).asText(), entry.path(1).asText())
        : new GivenPath(entry.asText(), null);
  }

  /** Option {@code paths} for one path, or for a list of paths and {@code {file, dataset}} pairs. */
  static String listOf(Object files) {
    ArrayNode paths = ReadOptions.JSON.createArrayNode();
    for (Object one : files instanceof String ? Collections.singletonList(files) : items(files)) {
      add(one, paths);
    }
    if (paths.isEmpty()) {
      throw new InvalidInputException("no path: the list of files is empty");
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
      throw unknown(one);
    }
  }

  private static List<?> items(Object files) {
    if (files instanceof List) {
      return (List<?>) files;
    } else if (files instanceof Object[]) {
      return Arrays.asList((Object[]) files);
    }
    throw unknown(files);
  }

  /** File and dataset of a pair, or null. */
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

  private static InvalidInputException unknown(Object one) {
    return new InvalidInputException("files are given as " + one
        + ": give a path, or a list of paths and of {file, dataset} pairs");
  }
}
