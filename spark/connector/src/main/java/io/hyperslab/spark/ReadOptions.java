package io.hyperslab.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.InvalidInputException;
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

/** The options of a read, as they were given with {@code option(…)}, {@code OPTIONS (…)} or in SQL. */
final class ReadOptions {
  static final ObjectMapper JSON = new ObjectMapper();

  /** Every option that means something; another one is an error, because a misspelt one would be silently without effect. */
  private static final List<String> KNOWN = Arrays.asList(
      "path",
      "paths",
      "dataset",
      "layout",
      "where",
      "decode",
      "partitions",
      "targetpartitionbytes",
      "batchrows",
      "recursivefilelookup",
      "pathglobfilter",
      "nonconforming",
      "ignorecorruptfiles",
      "ignoremissingfiles",
      "links",
      "missingsources",
      "format",
      "limits",
      "readthreads",
      "sumfloats",
      "filecolumns",
      "indexfolder",
      "omitted");

  /** {@code limits.heap_bytes} is one of {@code limits}. */
  private static final String LIMIT = "limits.";

  /** What Spark itself puts among a table's properties. */
  private static final List<String> SPARKS = Arrays.asList(
      "provider",
      "owner",
      "location",
      "external",
      "is_managed_location",
      "comment",
      "collation",
      "transient_lastddltime");

  /** Bytes as Spark's own options take them: 67108864, 64m, 64mb, 1g. */
  private static final Pattern SIZE = Pattern.compile("0*([1-9][0-9]*)(?:b|([kmgt])b?)?");

  private final Map<String, String> values = new TreeMap<>();

  /** Later maps win; names are the same in any case. */
  @SafeVarargs
  ReadOptions(Map<String, String>... maps) {
    for (Map<String, String> map : maps) {
      map.forEach((name, value) -> {
        String lower = name.toLowerCase(Locale.ROOT);
        // Spark 4 hands a table's options over with this prefix, too.
        values.put(
            lower.startsWith("option.") ? lower.substring("option.".length()) : lower, value);
      });
    }
    for (String name : values.keySet()) {
      if (!KNOWN.contains(name)
          && !SPARKS.contains(name)
          && !name.contains(".")
          && !name.startsWith("__")) {
        throw new InvalidInputException(
            "there is no option " + name + "; there are: " + String.join(", ", KNOWN));
      }
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ReadOptions && values.equals(((ReadOptions) other).values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  String text(String name) {
    return values.get(name);
  }

  boolean flag(String name, boolean otherwise) {
    String value = values.get(name);
    if (value == null) {
      return otherwise;
    }
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new InvalidInputException("option " + name + " is " + value + ": give true or false");
    }
    return Boolean.parseBoolean(value);
  }

  /** A positive number, or null if it is not given. */
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
      // The message below is for this, too.
    }
    throw new InvalidInputException(
        "option " + name + " is " + value + ": give a whole number of at least 1");
  }

  /** A positive number of bytes, perhaps with a unit ({@code 64m}), or null if it is not given. */
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
        // The message below is for this, too.
      }
    }
    throw new InvalidInputException(
        "option " + name + " is " + value + ": give bytes, 1 or more, such as 67108864 or 64m");
  }

  /** Paths as they were given, from {@code path} and the JSON list {@code paths}. */
  List<GivenPath> paths() {
    List<GivenPath> paths = new ArrayList<>();
    String list = values.get("paths");
    if (list != null) {
      JsonNode parsed;
      try {
        parsed = JSON.readTree(list);
      } catch (JsonProcessingException error) {
        throw new InvalidInputException("option paths is no JSON list of texts: " + list);
      }
      parsed.forEach(path -> paths.add(GivenPath.of(path)));
    }
    // A table in Spark's own catalog has a location even if its options name the path.
    String path = values.get("path") != null
        ? values.get("path")
        : paths.isEmpty() ? values.get("location") : null;
    if (path != null) {
      paths.add(new GivenPath(path, null));
    }
    if (paths.isEmpty()) {
      throw new InvalidInputException("no path: give load(\"file.h5\") or option path");
    }
    return paths;
  }

  boolean ignoreCorruptFiles() {
    return flag("ignorecorruptfiles", conf("spark.sql.files.ignoreCorruptFiles"));
  }

  boolean ignoreMissingFiles() {
    return flag("ignoremissingfiles", conf("spark.sql.files.ignoreMissingFiles"));
  }

  boolean nullsForMissingColumns() {
    return "null".equalsIgnoreCase(values.get("nonconforming"));
  }

  /** What is done about members of a group that are not columns: {@code warn}, {@code error} or {@code ignore}. */
  String omitted() {
    String value = values.getOrDefault("omitted", "warn").toLowerCase(Locale.ROOT);
    if (!Arrays.asList("warn", "error", "ignore").contains(value)) {
      throw new InvalidInputException(
          "option omitted is " + value + ": give warn, error or ignore");
    }
    return value;
  }

  private static boolean conf(String name) {
    return Boolean.parseBoolean(SQLConf.get().getConfString(name, "false"));
  }

  /** How files are opened, as the native library reads it. */
  ObjectNode session() {
    ObjectNode session = JSON.createObjectNode();
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
      session.put("indexFolder", text("indexfolder"));
    }
    if (text("limits") != null) {
      try {
        session.set("limits", JSON.readTree(text("limits").toLowerCase(Locale.ROOT)));
      } catch (JsonProcessingException error) {
        throw new InvalidInputException(
            "option limits is no JSON object of numbers: " + text("limits"));
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

  /** The session of a task: Spark runs tasks side by side, so each decodes on one thread unless an option sets another number. */
  String taskSession() {
    Long threads = number("readthreads");
    return session().put("threads", threads == null ? 1 : threads).toString();
  }

  /** A table over {@code files}, as the native library reads it, without columns and push-downs. */
  ObjectNode request(Collection<InputFile> files) {
    ObjectNode request = JSON.createObjectNode();
    ArrayNode names = request.putArray("files");
    files.forEach(file -> file.addTo(names));
    request.put("dataset", text("dataset") == null ? "/" : text("dataset"));
    if (text("layout") != null) {
      request.put("layout", text("layout"));
    }
    if (number("batchrows") != null) {
      request.put("batchRows", number("batchrows"));
    }
    request.put("decode", flag("decode", true));
    if (text("nonconforming") != null) {
      request.put("nonconforming", text("nonconforming").toLowerCase(Locale.ROOT));
    }
    request.put("ignoreCorrupt", ignoreCorruptFiles());
    request.put("ignoreMissing", ignoreMissingFiles());
    request.set("session", session());
    ArrayNode predicates = request.putArray("predicates");
    if (text("where") != null) {
      predicates.add(text("where"));
    }
    return request;
  }
}
