package io.hyperslab.spark.writing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InternalException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.LocalPath;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.types.StructType;

/** The options of a write. */
final class WriteOptions {
  /** Ours, between the two halves of a write. */
  static final String MODE = "__hyperslab_mode";

  /** Every option that means something; another one is an error, because a misspelt one would do nothing. */
  private static final List<String> KNOWN = Arrays.asList(
      "path",
      "dataset",
      "layout",
      "compression",
      "level",
      "shuffle",
      "chunkrows",
      "nulls",
      "replacefile");

  private static final String PARTITIONS = "__partition_columns";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, String> values = new TreeMap<>();

  WriteOptions(Map<String, String> given) {
    given.forEach((name, value) -> values.put(name.toLowerCase(Locale.ROOT), value));
    for (String name : values.keySet()) {
      if (name.equals(PARTITIONS)) {
        throw new UnsupportedException("partitionBy: a file of HDF5 is not cut by values");
      }
      if (!KNOWN.contains(name) && !name.startsWith("__")) {
        throw new InvalidInputException(
            "there is no option " + name + "; there are: " + String.join(", ", KNOWN));
      }
    }
  }

  Map<String, String> all() {
    return values;
  }

  /** Absolute. */
  String path() {
    if (values.get("path") == null) {
      throw new InvalidInputException("no path: give save(\"file.h5\")");
    }
    return LocalPath.of(values.get("path"));
  }

  String mode() {
    return values.getOrDefault(MODE, "append");
  }

  /** The object that an overwrite may replace, or null: the whole file. */
  String onlyReplaced() {
    String dataset = values.getOrDefault("dataset", "/");
    return flag("replacefile") || dataset.replace("/", "").isEmpty() ? null : dataset;
  }

  private boolean flag(String option) {
    String value = values.getOrDefault(option, "false");
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new InvalidInputException("option " + option + " is " + value + ": give true or false");
    }
    return Boolean.parseBoolean(value);
  }

  /** Whether floats that are null become NaN. */
  boolean nullsAreNan() {
    String nulls = values.getOrDefault("nulls", "error").toLowerCase(Locale.ROOT);
    if (!nulls.equals("error") && !nulls.equals("nan")) {
      throw new InvalidInputException("option nulls is " + nulls + ": give error or nan");
    }
    return nulls.equals("nan");
  }

  boolean records() {
    return "records".equalsIgnoreCase(values.get("layout"));
  }

  /** What to write, as the native library reads it. */
  String request(StructType schema) {
    Set<String> names = new HashSet<>();
    for (String name : schema.fieldNames()) {
      if (!names.add(name)) {
        throw new InvalidInputException("two columns are called " + name);
      }
    }
    ObjectNode request = JSON.createObjectNode();
    request.put("dataset", values.getOrDefault("dataset", "/"));
    try {
      request.set("schema", JSON.readTree(schema.json()));
    } catch (JsonProcessingException error) {
      throw new InternalException("Spark's schema is no JSON: " + error.getMessage());
    }
    for (String name : Arrays.asList("layout", "compression")) {
      if (values.get(name) != null) {
        request.put(name, values.get(name).toLowerCase(Locale.ROOT));
      }
    }
    if (values.get("shuffle") != null) {
      request.put("shuffle", flag("shuffle"));
    }
    number("level", "level", request);
    number("chunkrows", "chunkRows", request);
    return request.toString();
  }

  private void number(String option, String name, ObjectNode request) {
    String value = values.get(option);
    if (value == null) {
      return;
    }
    try {
      request.put(name, Long.parseLong(value.trim()));
    } catch (NumberFormatException error) {
      throw new InvalidInputException(
          "option " + option + " is " + value + ": give a whole number");
    }
  }
}
