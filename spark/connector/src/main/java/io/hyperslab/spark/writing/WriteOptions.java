package io.hyperslab.spark.writing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InternalException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.spark.LocalPath;
import io.hyperslab.spark.OptionNames;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** The options of a write. */
public final class WriteOptions {
  /** Internal option by which {@link SaveModes} passes the mode to {@link WriteSource}. */
  static final String MODE = "__hyperslab_mode";

  private static final OptionNames NAMES = new OptionNames(
      "path",
      "dataset",
      "layout",
      "compression",
      "level",
      "shuffle",
      "chunkRows",
      "nulls",
      "replaceFile",
      "replaceDataset");

  /** The columns of partitionBy, a JSON list. Spark itself sets this option. */
  static final String PARTITIONS = "__partition_columns";

  /** Internal option: the only folders of partitions that an overwrite replaces, a JSON list of paths. */
  static final String REPLACED_FOLDERS = "__hyperslab_replaced_folders";

  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, String> values = new TreeMap<>();
  /** Hadoop's settings of file systems, whose names are not in lower case. */
  private final Map<String, String> hadoopSettings = new TreeMap<>();

  WriteOptions(Map<String, String> given) {
    given.forEach((name, value) -> {
      if (HadoopFiles.isSetting(name)) {
        hadoopSettings.put(name, value);
      } else {
        values.put(name.toLowerCase(Locale.ROOT), value);
      }
    });
    for (String name : values.keySet()) {
      if (!NAMES.contains(name) && !name.startsWith("__")) {
        throw NAMES.unknown(name);
      }
    }
  }

  /** Whether a name, in lower case, is the name of an option. */
  static boolean isName(String name) {
    return NAMES.contains(name);
  }

  /** Whether an option, in lower case, concerns only writing, so that a table may have it. */
  public static boolean isOnlyForWriting(String name) {
    return isName(name) && !Arrays.asList("path", "dataset", "layout").contains(name);
  }

  Map<String, String> all() {
    Map<String, String> all = new TreeMap<>(hadoopSettings);
    all.putAll(values);
    return all;
  }

  /** Hadoop's file systems, with the settings of the session and of the options. */
  HadoopFiles hadoop() {
    return HadoopFiles.of(hadoopSettings);
  }

  /** Whether the file is on a Hadoop file system. */
  boolean isRemote() {
    return values.get("path") != null && HadoopFiles.isRemote(values.get("path"));
  }

  /** The absolute local path, or the path of a Hadoop file system as it was given. */
  String path() {
    if (values.get("path") == null) {
      throw new InvalidInputException("no path: use save(\"file.h5\")");
    }
    return isRemote() ? values.get("path") : LocalPath.of(values.get("path"));
  }

  /** The columns of {@code partitionBy}; none for a single file. */
  List<String> partitionColumns() {
    List<String> columns = list(PARTITIONS);
    return columns == null ? Collections.emptyList() : columns;
  }

  /** The only folders of partitions that an overwrite replaces; null for all of them. */
  List<String> replacedFolders() {
    return list(REPLACED_FOLDERS);
  }

  private List<String> list(String option) {
    try {
      return values.get(option) == null
          ? null
          : Arrays.asList(JSON.readValue(values.get(option), String[].class));
    } catch (JsonProcessingException error) {
      throw new InternalException("option " + option + " is invalid JSON: " + error.getMessage());
    }
  }

  /** Sets an option that is a list. */
  static void putList(String option, Collection<String> values, Map<String, String> options) {
    ArrayNode list = JSON.createArrayNode();
    values.forEach(list::add);
    options.put(option, list.toString());
  }

  /** Whether an overwrite replaces only the dataset, and keeps everything else in the file. */
  boolean replacesDataset() {
    if (!flag("replacedataset")) {
      return false;
    }
    if (flag("replacefile")
        || values.getOrDefault("dataset", "/").replace("/", "").isEmpty()) {
      throw new InvalidInputException(
          "option replaceDataset needs option dataset, and no option replaceFile");
    }
    return true;
  }

  /** The path of the dataset or group. */
  String dataset() {
    return "/" + values.getOrDefault("dataset", "/").replaceAll("^/+|/+$", "");
  }

  String mode() {
    return values.getOrDefault(MODE, "append");
  }

  /** The object that an overwrite may replace, or null for the whole file. */
  String replaceable() {
    String dataset = values.getOrDefault("dataset", "/");
    return flag("replacefile") || dataset.replace("/", "").isEmpty() ? null : dataset;
  }

  private boolean flag(String option) {
    String value = values.getOrDefault(option, "false");
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new InvalidInputException(
          "option " + option + " must be true or false, not \"" + value + "\"");
    }
    return Boolean.parseBoolean(value);
  }

  /** Whether null floats are written as NaN. */
  boolean nullsAreNan() {
    String nulls = values.getOrDefault("nulls", "error").toLowerCase(Locale.ROOT);
    if (!nulls.equals("error") && !nulls.equals("nan")) {
      throw new InvalidInputException("option nulls must be error or nan, not \"" + nulls + "\"");
    }
    return nulls.equals("nan");
  }

  boolean records() {
    return "records".equalsIgnoreCase(values.get("layout"));
  }

  /** The request for a write, as JSON for the native library. */
  String request(StructType schema) {
    boolean isCaseSensitive = SQLConf.get().caseSensitiveAnalysis();
    Set<String> names = new HashSet<>();
    for (String name : schema.fieldNames()) {
      if (!names.add(isCaseSensitive ? name : name.toLowerCase(Locale.ROOT))) {
        throw new InvalidInputException("duplicate column \"" + name + "\"");
      }
    }
    ObjectNode request = JSON.createObjectNode();
    request.put("dataset", values.getOrDefault("dataset", "/"));
    try {
      request.set("schema", JSON.readTree(schema.json()));
    } catch (JsonProcessingException error) {
      throw new InternalException("Spark's schema is invalid JSON: " + error.getMessage());
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
          "option " + option + " must be an integer, not \"" + value + "\"");
    }
  }
}
