package io.hyperslab.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InvalidInputException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.internal.SQLConf;

/** The options of a read, from {@code option(…)}, {@code OPTIONS (…)} or a table's properties. */
final class ReadOptions {
  static final ObjectMapper JSON = new ObjectMapper();

  private static final OptionNames NAMES = new OptionNames(
      "path",
      "paths",
      "basePath",
      "dataset",
      "layout",
      "model",
      "table",
      "where",
      "raw",
      "partitions",
      "targetPartitionBytes",
      "batchRows",
      "recursiveFileLookup",
      "pathGlobFilter",
      "modifiedBefore",
      "modifiedAfter",
      "timeZone",
      "mergeSchema",
      "nonconforming",
      "ignoreCorruptFiles",
      "ignoreMissingFiles",
      "links",
      "missingSources",
      "format",
      "limits",
      "readThreads",
      "sumFloats",
      "fileColumns",
      "indexFolder",
      "indexes",
      "omitted",
      "order",
      "badRecordsPath",
      "catalog",
      "maxFilesPerTrigger");

  /** Prefix of single limits, such as {@code limits.heap_bytes}. */
  private static final String LIMIT = "limits.";

  /** Properties that Spark itself adds to a table. */
  private static final List<String> SPARK_PROPERTIES = Arrays.asList(
      "provider",
      "owner",
      "location",
      "external",
      "is_managed_location",
      "comment",
      "collation",
      "transient_lastddltime");

  /** A size in bytes in the syntax of Spark's options: 67108864, 64m, 64mb, 1g. */
  private static final Pattern SIZE = Pattern.compile("0*([1-9][0-9]*)(?:b|([kmgt])b?)?");

  private final Map<String, String> values = new TreeMap<>();
  /** Hadoop's settings, whose names are not in lower case. */
  private final Map<String, String> hadoopSettings = new TreeMap<>();
  /** The file systems with these settings; null if they were not needed yet. */
  private HadoopFiles hadoop;
  /** The catalog of the option {@code catalog}; null if there is none, or it was not needed yet. */
  private FileCatalog catalog;

  /** Later maps take precedence over earlier ones. Names are case-insensitive. */
  @SafeVarargs
  ReadOptions(Map<String, String>... maps) {
    for (Map<String, String> map : maps) {
      map.forEach((name, value) -> {
        String lower = name.toLowerCase(Locale.ROOT);
        String setting = lower.startsWith("option.") ? name.substring("option.".length()) : name;
        if (HadoopFiles.isSetting(setting)) {
          hadoopSettings.put(setting, value);
        }
        // Spark 4 passes a table's options a second time with this prefix.
        values.put(
            lower.startsWith("option.") ? lower.substring("option.".length()) : lower, value);
      });
    }
    for (String name : values.keySet()) {
      if (!isName(name)) {
        throw NAMES.unknown(name);
      }
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ReadOptions
        && values.equals(((ReadOptions) other).values)
        && hadoopSettings.equals(((ReadOptions) other).hadoopSettings);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  /** Whether a name, in lower case, is the name of an option, or of a property that Spark sets. */
  static boolean isName(String name) {
    return NAMES.contains(name)
        || SPARK_PROPERTIES.contains(name)
        || name.startsWith(LIMIT)
        || HadoopFiles.isSetting(name)
        || name.startsWith("__");
  }

  String text(String name) {
    return values.get(name);
  }

  boolean flag(String name, boolean defaultValue) {
    String value = values.get(name);
    if (value == null) {
      return defaultValue;
    }
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new InvalidInputException(
          "option " + name + " must be true or false, not \"" + value + "\"");
    }
    return Boolean.parseBoolean(value);
  }

  /** The value of an option that is a positive integer, or null if it is not set. */
  Long number(String name) {
    String value = values.get(name);
    if (value == null) {
      return null;
    }
    try {
      long number = Long.parseLong(value.trim());
      if (number > 0) {
        return number;
      }
    } catch (NumberFormatException ignored) {
      // Reported below.
    }
    throw new InvalidInputException(
        "option " + name + " must be an integer of at least 1, not \"" + value + "\"");
  }

  /** The value of an option that is a size in bytes, optionally with a unit ({@code 64m}), or null if it is not set. */
  Long bytes(String name) {
    String value = values.get(name);
    if (value == null) {
      return null;
    }
    Matcher size = SIZE.matcher(value.trim().toLowerCase(Locale.ROOT));
    if (size.matches()) {
      try {
        int power = size.group(2) == null ? 0 : "kmgt".indexOf(size.group(2)) + 1;
        return Math.multiplyExact(Long.parseLong(size.group(1)), 1L << (10 * power));
      } catch (ArithmeticException | NumberFormatException ignored) {
        // Reported below.
      }
    }
    throw new InvalidInputException("option " + name
        + " must be a positive size in bytes such as 67108864 or 64m, not \"" + value + "\"");
  }

  /** The paths of the options {@code path} and {@code paths} (a JSON list). None if the files come from a catalog. */
  List<GivenPath> paths() {
    List<GivenPath> paths = new ArrayList<>();
    String list = values.get("paths");
    if (list != null) {
      JsonNode parsed;
      try {
        parsed = JSON.readTree(list);
      } catch (JsonProcessingException error) {
        throw new InvalidInputException("option paths must be a JSON list of strings, not " + list);
      }
      parsed.forEach(path -> paths.add(GivenPath.of(path)));
    }
    // A table in Spark's session catalog has a location even if its options contain the path.
    String path = values.get("path") != null
        ? values.get("path")
        : paths.isEmpty() ? values.get("location") : null;
    if (path != null) {
      paths.add(new GivenPath(path, null));
    }
    if (paths.isEmpty() && text("catalog") == null) {
      throw new InvalidInputException("no path: use load(\"file.h5\") or option path");
    }
    return paths;
  }

  /** Hadoop's file systems, with the settings of the session and of the options. */
  HadoopFiles hadoop() {
    if (hadoop == null) {
      hadoop = HadoopFiles.of(hadoopSettings);
    }
    return hadoop;
  }

  /** What is known of the files without opening them, or null. */
  FileCatalog catalog() {
    if (catalog == null) {
      catalog = FileCatalog.of(this);
    }
    return catalog;
  }

  boolean ignoreCorruptFiles() {
    return values.containsKey("badrecordspath")
        || flag("ignorecorruptfiles", conf("spark.sql.files.ignoreCorruptFiles"));
  }

  /** Where damaged files are named, or null. */
  BadRecords badRecords() {
    String folder = values.get("badrecordspath");
    return folder == null
        ? null
        : new BadRecords(folder, HadoopFiles.isRemote(folder) ? hadoop() : null);
  }

  boolean ignoreMissingFiles() {
    return flag("ignoremissingfiles", conf("spark.sql.files.ignoreMissingFiles"));
  }

  boolean nullsForMissingColumns() {
    return "null".equalsIgnoreCase(nonconforming()) || "merge".equals(nonconforming());
  }

  /** How files may differ; null for the default. */
  private String nonconforming() {
    if (!flag("mergeschema", false)) {
      return text("nonconforming");
    }
    if (text("nonconforming") != null) {
      throw new InvalidInputException(
          "options mergeSchema and nonconforming are two rules for files that differ: set one of them");
    }
    return "merge";
  }

  /** How members of a group that are not columns are handled: {@code warn}, {@code error} or {@code ignore}. */
  String omitted() {
    String value = values.getOrDefault("omitted", "warn").toLowerCase(Locale.ROOT);
    if (!Arrays.asList("warn", "error", "ignore").contains(value)) {
      throw new InvalidInputException(
          "option omitted must be warn, error or ignore, not \"" + value + "\"");
    }
    return value;
  }

  private static boolean conf(String name) {
    return Boolean.parseBoolean(SQLConf.get().getConfString(name, "false"));
  }

  /**
   * The options for opening files, as JSON for the native library.
   *
   * @param isRemote whether some file is one of a Hadoop file system
   */
  ObjectNode session(boolean isRemote) {
    ObjectNode session = JSON.createObjectNode();
    if (isRemote) {
      session.put("fileSystems", hadoop().key());
    }
    if (text("links") != null) {
      session.put("paths", text("links"));
    }
    if (text("missingsources") != null) {
      session.put("missingSources", text("missingsources"));
    }
    if (text("format") != null) {
      session.put("format", text("format"));
    }
    if (text("indexfolder") != null) {
      if (HadoopFiles.isRemote(text("indexfolder"))) {
        throw new UnsupportedException("option indexFolder must be a local folder, not \""
            + text("indexfolder") + "\": indexes are not read from Hadoop file systems");
      }
      session.put("indexFolder", text("indexfolder"));
    }
    if (text("indexes") != null) {
      session.put("indexes", text("indexes"));
    }
    if (text("limits") != null) {
      try {
        session.set("limits", JSON.readTree(text("limits").toLowerCase(Locale.ROOT)));
      } catch (JsonProcessingException error) {
        throw new InvalidInputException(
            "option limits must be a JSON object of numbers, not " + text("limits"));
      }
    }
    for (String name : values.keySet()) {
      if (name.startsWith(LIMIT)) {
        session
            .withObject("/limits")
            .put(
                name.substring(LIMIT.length()),
                name.endsWith("_bytes") ? bytes(name) : number(name));
      }
    }
    return session;
  }

  /** The options for opening files in a task, which decodes on one thread by default because Spark runs tasks in parallel. */
  String taskSession(boolean isRemote) {
    Long threads = number("readthreads");
    return session(isRemote).put("threads", threads == null ? 1 : threads).toString();
  }

  /** The request for a table over {@code files}, as JSON for the native library, without columns and push-downs. */
  ObjectNode request(Collection<InputFile> files) {
    ObjectNode request = JSON.createObjectNode();
    ArrayNode names = request.putArray("files");
    files.forEach(file -> file.addTo(names));
    request.put("dataset", text("dataset") == null ? "/" : text("dataset"));
    if (text("model") != null) {
      if (text("table") == null || text("dataset") != null) {
        throw new InvalidInputException(
            "option model needs option table, the name of one of its tables, and no option dataset");
      }
      request.put("model", text("model"));
      request.put("dataset", text("table"));
    } else if (text("table") != null) {
      throw new InvalidInputException(
          "option table needs option model; a dataset is named by option dataset");
    }
    if (text("layout") != null) {
      request.put("layout", text("layout"));
    }
    if (number("batchrows") != null) {
      request.put("batchRows", number("batchrows"));
    }
    request.put("decode", !flag("raw", false));
    if (nonconforming() != null) {
      request.put("nonconforming", nonconforming().toLowerCase(Locale.ROOT));
    }
    if (text("order") != null) {
      request.put("order", text("order").toLowerCase(Locale.ROOT));
    }
    request.put("ignoreCorrupt", ignoreCorruptFiles());
    // A task checks a file before it uses any of its rows, so several tasks of a file would check
    // it several times.
    request.put("wholeFiles", ignoreCorruptFiles());
    request.put("ignoreMissing", ignoreMissingFiles());
    request.set("session", session(InputFile.isAnyRemote(files)));
    ArrayNode predicates = request.putArray("predicates");
    if (text("where") != null) {
      predicates.add(text("where"));
    }
    return request;
  }
}
