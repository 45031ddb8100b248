package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.CancelledException;
import io.hyperslab.ConflictException;
import io.hyperslab.CorruptException;
import io.hyperslab.HyperslabException;
import io.hyperslab.IoException;
import io.hyperslab.SplitReader;
import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.spark.TaskContext;

/**
 * Reads a file completely, to find out whether it is damaged, before a task uses any of its rows. With the options {@code
 * ignoreCorruptFiles} and {@code badRecordsPath} a damaged file has no rows. Whether it has some must not depend on the columns
 * and rows that a query needs, so all columns of the table are read.
 */
final class FileCheck implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The only result of reading a split: its rows are counted, and not exported. */
  private static final String COUNT = "[{\"name\": \"rows\", \"function\": \"count\"}]";

  /** Maximum number of results that a process keeps. */
  private static final int MAX_KEPT = 10_000;

  /** The damage of files that were checked, by file version and request. */
  private static final Map<String, Optional<CorruptException>> KEPT = Collections.synchronizedMap(
      new LinkedHashMap<String, Optional<CorruptException>>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Optional<CorruptException>> eldest) {
          return size() > MAX_KEPT;
        }
      });

  private final String request;
  private final String session;
  private final HadoopFiles hadoop;

  /**
   * @param request the request for all columns of the table, without files and predicates
   * @param session the options for opening files in a task
   * @param hadoop the file systems of files that have addresses; null if all files are local
   */
  FileCheck(ObjectNode request, String session, HadoopFiles hadoop) {
    this.request = request.toString();
    this.session = session;
    this.hadoop = hadoop;
  }

  /** What to check: one file, and predicates on its rows if only some are. */
  static String partOf(InputFile file, String... predicates) {
    ObjectNode part = ReadOptions.JSON.createObjectNode();
    file.addTo(part.putArray("files"));
    ArrayNode texts = part.putArray("predicates");
    for (String predicate : predicates) {
      texts.add(predicate);
    }
    return part.toString();
  }

  /**
   * @param part the result of {@link #partOf}
   * @throws CorruptException if the file is damaged
   */
  void check(String part, TaskContext task) {
    ObjectNode wanted = (ObjectNode) Description.parse(request);
    ObjectNode one = (ObjectNode) Description.parse(part);
    String key = versionOf(one) + "\n" + part + "\n"
        + UUID.nameUUIDFromBytes(request.getBytes(StandardCharsets.UTF_8));
    wanted.setAll(one);
    Optional<CorruptException> known = KEPT.get(key);
    if (known == null) {
      known = Optional.ofNullable(damageOf(wanted, task));
      KEPT.put(key, known);
    }
    if (known.isPresent()) {
      throw known.get();
    }
  }

  private String versionOf(ObjectNode part) {
    JsonNode file = part.get("files").get(0);
    String name = file.isObject() ? file.get("path").asText() : file.asText();
    if (HadoopFiles.isRemote(name)) {
      HadoopEntry entry = hadoop.find(name);
      return entry == null ? "missing" : entry.length + " " + entry.modified;
    }
    Path path = Paths.get(name);
    try {
      return java.nio.file.Files.readAttributes(path, "unix:size,lastModifiedTime,ctime,ino")
          .toString();
    } catch (IOException error) {
      // Opening the file tells what is wrong.
      return "missing";
    }
  }

  private CorruptException damageOf(ObjectNode wanted, TaskContext task) {
    try {
      return read(wanted, task);
    } catch (ConflictException | IoException | CancelledException error) {
      throw error;
    } catch (HyperslabException error) {
      // A column cannot be read for another reason, which does not concern queries that do not need
      // it.
      return damageOfEachColumn(wanted, task);
    }
  }

  private CorruptException damageOfEachColumn(ObjectNode wanted, TaskContext task) {
    ArrayNode columns = (ArrayNode) wanted.get("columns").deepCopy();
    for (JsonNode column : columns) {
      wanted.putArray("columns").add(column);
      try {
        CorruptException damage = read(wanted, task);
        if (damage != null) {
          return damage;
        }
      } catch (ConflictException | IoException | CancelledException error) {
        throw error;
      } catch (HyperslabException error) {
        // Queries that need this column fail.
        continue;
      }
    }
    return null;
  }

  /** Reads all rows, and returns the damage; null if there is none. */
  private CorruptException read(ObjectNode wanted, TaskContext task) {
    try {
      byte[][] answer = Watch.planning(planning -> planning.split(wanted.toString()));
      for (int i = 1; i < answer.length; i++) {
        try (SplitReader reader = new SplitReader(answer[i], session, COUNT, "null", "null")) {
          Watch.add(reader, task);
          try {
            reader.open();
            while (reader.next()) {
              // The batch is a count, which is not used.
            }
          } finally {
            Watch.remove(reader);
          }
        }
      }
      return null;
    } catch (CorruptException error) {
      return error;
    }
  }
}
