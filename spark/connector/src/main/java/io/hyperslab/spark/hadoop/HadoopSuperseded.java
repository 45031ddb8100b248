package io.hyperslab.spark.hadoop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.hyperslab.CorruptException;
import io.hyperslab.HyperslabException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.StagedWrite;
import io.hyperslab.UnsupportedException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The subfiles of states that earlier overwrites replaced. What a commit replaces stays until the next commit, because readers
 * may just have opened it. What the state before had replaced is removed then, unless another master in the folder names it.
 */
final class HadoopSuperseded {
  /** So many files next to the master are asked at most whether they are masters. If there are more, nothing is removed. */
  private static final int MAX_NEIGHBORS = 200;
  /** A record has about 150 bytes for each task. */
  private static final int MAX_RECORD_BYTES = 64 << 20;

  private static final byte[] SIGNATURE =
      "\u0089HDF\r\n\u001a\n".getBytes(StandardCharsets.ISO_8859_1);

  private static final ObjectMapper JSON = new ObjectMapper();

  private final HadoopFiles files;
  private final HadoopOutput output;
  private final String address;
  private final Map<String, JsonNode> records = new HashMap<>();

  private HadoopSuperseded(HadoopFiles files, String address) {
    this.files = files;
    this.address = address;
    output = new HadoopOutput(files);
  }

  /**
   * Removes what the state {@code base} and those before it had replaced.
   *
   * @param base the commit that the present master has replaced or added to
   * @param present the commit of the present master
   * @throws HyperslabException if a record or another master cannot be read
   */
  static void remove(HadoopFiles files, String address, String base, String present) {
    HadoopSuperseded superseded = new HadoopSuperseded(files, address);
    Set<String> old = superseded.replacedBy(superseded.added(base));
    if (!old.isEmpty()) {
      old.removeAll(superseded.added(present));
      old.removeAll(superseded.added(base));
      superseded.removeUnnamed(old);
    }
  }

  private String folder(String write) {
    return address + HadoopMaster.CONTAINER_SUFFIX + "/" + write;
  }

  /** The folder that the name of a commit says. */
  private static String folderIn(String commit) {
    return commit.substring(commit.indexOf(' ') + 1);
  }

  /** The record in the folder of a write; null if there is none. */
  private JsonNode record(String write) {
    return records.computeIfAbsent(write, unknown -> {
      String place = folder(write) + "/" + HadoopLeftovers.RECORD;
      if (!output.exists(place)) {
        return null;
      }
      try {
        return JSON.readTree(files.firstBytes(place, MAX_RECORD_BYTES));
      } catch (IOException error) {
        throw new CorruptException("not a record of a commit: " + error, place, null, null);
      }
    });
  }

  /** The write of a commit, and those that it adds to. */
  private Set<String> added(String commit) {
    Set<String> writes = new HashSet<>();
    for (String next = commit; next != null; ) {
      String write = folderIn(next);
      JsonNode record = writes.add(write) ? record(write) : null;
      next = record == null || !record.hasNonNull("previous")
          ? null
          : record.get("previous").asText();
    }
    return writes;
  }

  /** The writes that others have replaced, and those that these had replaced. */
  private Set<String> replacedBy(Set<String> writes) {
    Set<String> replaced = new HashSet<>();
    Deque<String> next = new ArrayDeque<>(writes);
    while (!next.isEmpty()) {
      JsonNode record = record(next.pop());
      if (record != null && record.hasNonNull("replaced")) {
        for (String older : added(record.get("replaced").asText())) {
          if (record(older) != null && replaced.add(older)) {
            next.push(older);
          }
        }
      }
    }
    return replaced;
  }

  /** Removes writes unless masters next to this one name them. */
  private void removeUnnamed(Set<String> old) {
    int neighbors = 0;
    for (HadoopEntry member : files.members(HadoopOutput.folderOf(address))) {
      if (member.isFolder || member.address.equals(address)) {
        continue;
      }
      if (++neighbors > MAX_NEIGHBORS) {
        return;
      }
      String commit = commitOf(member);
      if (commit != null && record(folderIn(commit)) != null) {
        Set<String> named = added(commit);
        old.removeAll(named);
        old.removeAll(replacedBy(named));
      }
    }
    old.forEach(write -> output.remove(folder(write)));
  }

  private String commitOf(HadoopEntry member) {
    try {
      return StagedWrite.commitOf(member.address, files.sessionOptions());
    } catch (CorruptException | InvalidInputException | UnsupportedException error) {
      // A damaged file may be a master.
      if (Arrays.equals(files.firstBytes(member.address, SIGNATURE.length), SIGNATURE)) {
        throw error;
      }
      return null;
    }
  }
}
