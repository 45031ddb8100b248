package io.hyperslab.spark.writing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.IoException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The end of a write into a folder of partitions, which replaces and adds many files. One rename of the folder in which the
 * tasks wrote puts the write into effect: from then on that folder lists the moves to be made. A process that is killed among
 * them leaves this folder, and the next reader or writer makes the moves that are left. No two files of different writes have
 * the same name, so each move can be repeated, and by several processes at once.
 */
public final class FolderCommit {
  /** Readers skip names that begin with "_". */
  static final String COMMITTED = "_committed-";

  private static final String MOVES = "moves.json";
  /** In the committed folder, the place of the replaced files until they are removed. */
  private static final String REPLACED = "replaced";

  /** How often something is tried that other processes undo at once. */
  private static final int ATTEMPTS = 10;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path folder;
  private final Path committed;
  private final List<Path> replaced = new ArrayList<>();
  private final List<Path> added = new ArrayList<>();

  private FolderCommit(Path folder, Path committed) throws IOException {
    this.folder = folder;
    this.committed = committed;
    JsonNode moves = JSON.readTree(Files.readAllBytes(committed.resolve(MOVES)));
    moves.get("replaced").forEach(file -> replaced.add(folder.resolve(file.asText())));
    moves.get("added").forEach(file -> added.add(committed.resolve(file.asText())));
  }

  /**
   * Puts a write into effect.
   *
   * @param staging the folder in which the tasks wrote, in {@code folder}
   * @param replaced files and folders in {@code folder} to be removed
   * @param added files that the tasks wrote, each at {@code attempt/name=value/…} of {@code staging}
   */
  static void commit(Path folder, Path staging, Collection<Path> replaced, Collection<Path> added)
      throws IOException {
    FolderCommit commit = begin(folder, staging, replaced, added);
    try {
      commit.makeMoves();
    } catch (IOException error) {
      if (commit.isUnfinished()) {
        commit.undo(staging, error);
        throw error;
      }
      // A reader has completed the write meanwhile.
    }
    commit.clean();
  }

  /** Puts a write into effect, and makes none of its moves. */
  static FolderCommit begin(
      Path folder, Path staging, Collection<Path> replaced, Collection<Path> added)
      throws IOException {
    ObjectNode moves = JSON.createObjectNode();
    ArrayNode olds = moves.putArray("replaced");
    for (Path path : replaced) {
      try (Stream<Path> all = Files.walk(path)) {
        all.filter(member -> !Files.isDirectory(member, LinkOption.NOFOLLOW_LINKS))
            .forEach(member -> olds.add(folder.relativize(member).toString()));
      }
    }
    ArrayNode news = moves.putArray("added");
    added.forEach(file -> news.add(staging.relativize(file).toString()));
    try (FileChannel list = FileChannel.open(
        staging.resolve(MOVES), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      ByteBuffer bytes = ByteBuffer.wrap(JSON.writeValueAsBytes(moves));
      while (bytes.hasRemaining()) {
        list.write(bytes);
      }
      list.force(true);
    }
    Path committed = folder.resolve(COMMITTED + UUID.randomUUID());
    Files.move(staging, committed);
    return new FolderCommit(folder, committed);
  }

  private boolean isUnfinished() {
    return isUnfinished(committed);
  }

  /** Whether a member of a folder belongs to a write in effect. A write without moves is a leftover of a completed write. */
  static boolean isUnfinished(Path member) {
    return member.getFileName().toString().startsWith(COMMITTED)
        && Files.exists(member.resolve(MOVES));
  }

  /**
   * Makes the moves that killed processes left. Does nothing in a folder without any, and in what is not a folder.
   *
   * @throws IoException if a move fails, for instance because this user may not write into the folder
   */
  public static void finish(Path folder) {
    if (!Files.isDirectory(folder)) {
      return;
    }
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> members = Files.newDirectoryStream(folder, COMMITTED + "*")) {
      members.forEach(found::add);
      for (Path committed : found) {
        finish(folder, committed);
      }
    } catch (IOException error) {
      throw new IoException(
          "a write into this folder was interrupted, and cannot be completed: " + error,
          folder.toString(),
          null,
          null);
    }
  }

  private static void finish(Path folder, Path committed) throws IOException {
    try {
      FolderCommit commit = new FolderCommit(folder, committed);
      commit.makeMoves();
      commit.clean();
    } catch (NoSuchFileException error) {
      if (isUnfinished(committed)) {
        throw error;
      }
      // Another process has completed the write.
    }
  }

  private void makeMoves() throws IOException {
    for (Path old : replaced) {
      move(old, committed, committed.resolve(REPLACED).resolve(folder.relativize(old)));
    }
    for (Path file : added) {
      move(file, folder, target(file));
    }
  }

  /** The place of an added file: the first folder in the committed one is the folder of the task's attempt. */
  private Path target(Path file) {
    Path written = committed.relativize(file);
    return folder.resolve(written.subpath(1, written.getNameCount()));
  }

  /** Moves a file to a place below {@code root}, which must be there: a committed folder that is gone must not come back. */
  private static void move(Path from, Path root, Path to) throws IOException {
    // A file that was moved before, and is there again, is a new one.
    for (int attempt = 1; exists(from) && !exists(to); attempt++) {
      try {
        createFolders(root, to.getParent());
        Files.move(from, to);
      } catch (NoSuchFileException error) {
        // Another process has moved it, or has removed the empty folder.
        boolean mayComeBack = exists(from) && Files.isDirectory(root) && attempt < ATTEMPTS;
        if (!exists(to) && !mayComeBack) {
          throw error;
        }
      }
    }
  }

  private static boolean exists(Path path) {
    return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
  }

  /** Creates folders below {@code root}. Other processes may create them, and remove empty ones, at the same time. */
  private static void createFolders(Path root, Path wanted) throws IOException {
    for (int attempt = 1; !Files.isDirectory(wanted); attempt++) {
      try {
        Path created = root;
        for (Path name : root.relativize(wanted)) {
          created = created.resolve(name);
          if (!Files.isDirectory(created)) {
            Files.createDirectory(created);
          }
        }
      } catch (FileAlreadyExistsException | NoSuchFileException error) {
        if (!Files.isDirectory(root)) {
          throw new NoSuchFileException(root.toString());
        }
        // What is in the way to the end is a file.
        if (attempt == ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  /** Takes the write back, if a move fails. */
  private void undo(Path staging, IOException reason) {
    try {
      for (Path file : added) {
        move(target(file), committed, file);
      }
      for (Path old : replaced) {
        move(committed.resolve(REPLACED).resolve(folder.relativize(old)), folder, old);
      }
      Files.move(committed, staging);
    } catch (IOException error) {
      reason.addSuppressed(error);
    }
  }

  private void clean() throws IOException {
    remove(folder, committed);
    for (Path old : replaced) {
      removeEmpty(old.getParent());
    }
  }

  /** Removes a folder and those around it, up to the folder of the table, if nothing is in them. */
  private void removeEmpty(Path empty) throws IOException {
    try {
      for (Path member = empty; !member.equals(folder); member = member.getParent()) {
        Files.delete(member);
      }
    } catch (DirectoryNotEmptyException | NoSuchFileException error) {
      // It has other files, or was removed already.
    }
  }

  /** Renames a member of {@code folder} before removing it, so that tasks that are still running cannot write into it. */
  static void remove(Path folder, Path member) throws IOException {
    Path renamed = folder.resolve("_removing-" + UUID.randomUUID());
    try {
      Files.move(member, renamed);
    } catch (NoSuchFileException error) {
      return;
    }
    for (int attempt = 1; ; attempt++) {
      try {
        removeAll(renamed);
        return;
      } catch (DirectoryNotEmptyException error) {
        // A process that found the folder before it was renamed has created one in it.
        if (attempt == ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  private static void removeAll(Path folder) throws IOException {
    List<Path> all;
    try (Stream<Path> members = Files.walk(folder)) {
      all = members.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
    }
    for (Path path : all) {
      Files.deleteIfExists(path);
    }
  }
}
