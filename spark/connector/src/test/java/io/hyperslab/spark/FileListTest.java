package io.hyperslab.spark;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;

import io.hyperslab.InvalidInputException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class FileListTest {
  @Rule
  public TemporaryFolder folder = new TemporaryFolder();

  private Path list(String text) throws Exception {
    Path list = folder.getRoot().toPath().resolve("list.csv");
    java.nio.file.Files.write(list, text.getBytes(StandardCharsets.UTF_8));
    return list;
  }

  @Test
  public void fieldsFollowCsvQuoting() {
    assertEquals(Arrays.asList("a.h5", "/x"), FileList.fields("a.h5 , /x"));
    assertEquals(Arrays.asList("a,b.h5", "/\"x\""), FileList.fields("\"a,b.h5\",\"/\"\"x\"\"\""));
    assertEquals(Collections.singletonList("a b.h5"), FileList.fields("a b.h5"));
    assertEquals(Arrays.asList("a.h5", ""), FileList.fields("a.h5,"));
    assertNull(FileList.fields("\"a.h5,/x"));
    assertNull(FileList.fields("\"a\"b,/x"));
  }

  @Test
  public void linesAreRelativeToTheList() throws Exception {
    List<GivenPath> lines =
        FileList.read(list("file,dataset\n# a comment\n\na.h5,/x\n/b/c.h5\nfile:/d.h5,/y\n"));
    assertEquals(folder.getRoot().toPath().resolve("a.h5").toString(), lines.get(0).path);
    assertEquals("/x", lines.get(0).dataset);
    assertEquals("/b/c.h5", lines.get(1).path);
    assertNull(lines.get(1).dataset);
    assertEquals("file:/d.h5", lines.get(2).path);
  }

  @Test
  public void anInvalidLineIsNamed() throws Exception {
    Path bad = list("a.h5,/x\na.h5,/x,3\n");
    InvalidInputException error =
        assertThrows(InvalidInputException.class, () -> FileList.read(bad));
    assertEquals(true, error.getMessage().contains("line 2"));
    Path empty = list("# nothing\n");
    assertThrows(InvalidInputException.class, () -> FileList.read(empty));
  }
}
