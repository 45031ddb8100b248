package io.hyperslab.spark.writing;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class FolderCommitTest {
  private static final int FILES = 5;

  @Rule
  public final TemporaryFolder temporary = new TemporaryFolder();

  private Path folder;
  private Path staging;

  private static Path write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    return Files.write(file, text.getBytes(StandardCharsets.UTF_8));
  }

  /** A table with partitions k=0 … k=4, and a write of new files for k=2 … k=6. */
  private List<Path> start() throws IOException {
    folder = temporary.newFolder().toPath();
    staging = folder.resolve("_writing-1");
    List<Path> added = new ArrayList<>();
    for (int k = 0; k < FILES; k++) {
      write(folder.resolve("k=" + k + "/old.h5"), "old " + k);
      added.add(write(staging.resolve("attempt-7/k=" + (k + 2) + "/new.h5"), "new " + (k + 2)));
    }
    write(staging.resolve("attempt-8/k=2/failed.h5"), "of a task that failed");
    return added;
  }

  private List<Path> olds(int... values) {
    return Arrays.stream(values)
        .mapToObj(k -> folder.resolve("k=" + k))
        .collect(Collectors.toList());
  }

  /** All files and folders, with the texts of files. */
  private TreeMap<String, String> tree() throws IOException {
    TreeMap<String, String> found = new TreeMap<>();
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : all.collect(Collectors.toList())) {
        found.put(
            folder.relativize(path).toString(),
            Files.isDirectory(path)
                ? ""
                : new String(Files.readAllBytes(path), StandardCharsets.UTF_8));
      }
    }
    return found;
  }

  @Test
  public void aWriteThatIsKilledAmongItsMovesIsCompletedByTheNextReader() throws IOException {
    List<Path> added = start();
    FolderCommit.commit(folder, staging, olds(0, 3), added);
    TreeMap<String, String> expected = tree();
    assertEquals(
        Arrays.asList(
            "",
            "k=1",
            "k=1/old.h5",
            "k=2",
            "k=2/new.h5",
            "k=2/old.h5",
            "k=3",
            "k=3/new.h5",
            "k=4",
            "k=4/new.h5",
            "k=4/old.h5",
            "k=5",
            "k=5/new.h5",
            "k=6",
            "k=6/new.h5"),
        new ArrayList<>(expected.keySet()));

    for (int moves = 0; moves <= FILES + 2; moves++) {
      added = start();
      TreeMap<String, String> before = tree();
      FolderCommit.finish(folder);
      assertEquals("nothing is in effect before the commit", before, tree());
      FolderCommit.begin(folder, staging, olds(0, 3), added);
      Path committed;
      try (Stream<Path> members = Files.list(folder)) {
        committed = members.filter(FolderCommit::isUnfinished).findFirst().get();
      }
      for (int i = 0; i < moves; i++) {
        Path from = i < 2
            ? folder.resolve("k=" + i * 3 + "/old.h5")
            : committed.resolve("attempt-7/k=" + i + "/new.h5");
        Path to = i < 2
            ? committed.resolve("replaced/k=" + i * 3 + "/old.h5")
            : folder.resolve("k=" + i + "/new.h5");
        Files.createDirectories(to.getParent());
        Files.move(from, to);
      }
      FolderCommit.finish(folder);
      assertEquals("after " + moves + " moves", expected, tree());
      FolderCommit.finish(folder);
      assertEquals(expected, tree());
    }
  }

  @Test
  public void severalReadersCompleteAWriteAtOnce() throws Exception {
    for (int round = 0; round < 50; round++) {
      List<Path> added = start();
      FolderCommit.begin(folder, staging, olds(0, 1, 2, 3, 4), added);
      ExecutorService threads = Executors.newFixedThreadPool(4);
      Callable<Void> reader = () -> {
        FolderCommit.finish(folder);
        return null;
      };
      for (Future<Void> each : threads.invokeAll(Collections.nCopies(4, reader))) {
        each.get();
      }
      threads.shutdown();
      TreeMap<String, String> files = tree();
      files.values().removeIf(String::isEmpty);
      files.keySet().removeIf(name -> name.startsWith("_"));
      assertEquals(
          Arrays.asList("k=2/new.h5", "k=3/new.h5", "k=4/new.h5", "k=5/new.h5", "k=6/new.h5"),
          new ArrayList<>(files.keySet()));
    }
  }

  @Test
  public void aWriteThatCannotBeCompletedIsTakenBack() throws IOException {
    List<Path> added = start();
    TreeMap<String, String> before = tree();
    // A file is in the place of a folder.
    write(folder.resolve("k=6"), "in the way");
    before.put("k=6", "in the way");
    try {
      FolderCommit.commit(folder, staging, olds(0), added);
      throw new AssertionError("a file was moved into a file");
    } catch (IOException error) {
      TreeMap<String, String> after = tree();
      after
          .keySet()
          .removeIf(name -> name.equals("_writing-1/moves.json")
              || name.startsWith("_writing-1/replaced")
              || name.equals("k=5"));
      assertEquals(before, after);
      assertTrue(Files.exists(staging.resolve("moves.json")));
    }
  }
}
